package scale

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if mine, err := Child(context.Background()); mine {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func lab(t *testing.T) (*Lab, *bytes.Buffer) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	return &Lab{Self: self, Out: t.TempDir(), Log: &log, Sizes: []int{2, 60}}, &log
}

// The curve of small clusters has a row for each, of all tasks, and is drawn.
func TestTheCurve(t *testing.T) {
	l, log := lab(t)
	if err := l.Run(t.Context(), []string{"scale-curve"}); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	for _, want := range []string{" 2          40 ", " 60         1200 "} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the table has no row with %q:\n%s", want, log)
		}
	}
	for _, name := range []string{"decisions", "rounds", "memory"} {
		if svg, err := os.ReadFile(filepath.Join(l.Out, "scale-curve-"+name+".svg")); err != nil || !bytes.Contains(svg, []byte("<path class=\"d-line")) {
			t.Errorf("%s: %v, drawn as %s", name, err, svg)
		}
	}
	if err := l.Run(t.Context(), []string{"nonsense"}); err == nil {
		t.Error("a measurement that there is not is made")
	}
}

// A trace of SWIM is played in process and by the policy's program, with the same rounds and
// decisions; what the program holds is counted for itself.
func TestAPlugin(t *testing.T) {
	l, log := lab(t)
	program := filepath.Join(t.TempDir(), "fifo")
	if out, err := exec.Command("go", "build", "-o", program, "../../../../plugins/fifo/hamadryad-policy-fifo").CombinedOutput(); err != nil {
		t.Fatalf("building the policy: %v\n%s", err, out)
	}
	trace := filepath.Join(t.TempDir(), "day.tsv")
	if err := os.WriteFile(trace, []byte("job0\t9\t9\t9000000000000\t40000000000\t14347\njob1\t18\t9\t970\t0\t697\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	inside, err := l.measure(t.Context(), run{Trace: trace, Policy: "fifo", Launchers: 3})
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	beside, err := l.measure(t.Context(), run{Trace: trace, Policy: "fifo", Plugin: program, Launchers: 3})
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	if inside.Workload != "day.tsv" || inside.Tasks != 70 || inside.Decisions == 0 || inside.Rounds != beside.Rounds || inside.Decisions != beside.Decisions {
		t.Errorf("in process %+v, by the program %+v", inside, beside)
	}
	if inside.Peak == 0 || inside.PluginPeak != 0 || beside.PluginPeak == 0 || inside.Wall <= 0 || inside.Processor <= 0 {
		t.Errorf("something was not measured: %+v, %+v", inside, beside)
	}
}

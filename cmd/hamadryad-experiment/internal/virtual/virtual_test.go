package virtual

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/report/timeline"
)

// bin is the folder of the policies' programs, built once.
var bin string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "hamadryad-virtual-test")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		if out, err := exec.Command("go", "build", "-o", dir+"/", "../../../../plugins/...").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the policies: %v\n%s", err, out)
			return 1
		}
		bin = dir
		return m.Run()
	}())
}

// Published figures come out with the plug-ins' own programs: those that take seconds, and of FB2009 its first jobs on
// small clusters, with the largest error. The whole table is that of `make experiments`.
func TestPublishedFigures(t *testing.T) {
	var log, progress bytes.Buffer
	l := Lab{Bin: bin, Out: filepath.Join(t.TempDir(), "drawings"), Log: &log, Progress: &progress, Runs: 8, Sizes: []int{20}, Errors: []float64{1}, Seeds: 2, Launchers: 10, Jobs: 20}
	err := l.Run(t.Context(), []string{"hammr-figure5", "hammr-table1", "disco", "dynamic-share", "single-server", "hfsp-order", "hfsp-workloads", "hfsp-fb2009", "hfsp-errors", "hfsp-preemption", "hfsp-swapping"})
	t.Log(log.String())
	if err != nil {
		t.Fatal(err)
	}
	l.Jobs = 5
	if err := l.Run(t.Context(), []string{"hfsp-skew"}); err != nil {
		t.Error(err)
	}
	drawn(t, l.Out, "disco-figure5", "disco-figure6", "disco-waits-fair", "disco-waits-preemptive-fair", "hammr-figure5-sets-1", "hammr-figure5-sets-6",
		"hfsp-figure5-start-1", "hfsp-figure6", "hfsp-figure7-eager", "hfsp-figure7-kill", "hfsp-figure7-wait", "hfsp-figure8")
	if !strings.Contains(progress.String(), "simulated time") {
		t.Errorf("those who wait are told %q", progress.String())
	}
	if err := l.Run(t.Context(), []string{"nonsense"}); err == nil {
		t.Error("an experiment that there is not is made")
	}
}

// Figure 5 of Hammr does not hold where C's maps end together, so that A gets all of its slots but one at 55 s.
func TestFigure5NeedsItsMoments(t *testing.T) {
	const s = time.Second
	line := timeline.New([]string{"A", "B", "C"}, []timeline.Span{
		{Party: "A", Slots: 1, End: 75 * s},
		{Party: "A", Slots: 1, End: 7 * s},
		{Party: "B", Slots: 2, End: 75 * s},
		{Party: "B", Slots: 2, End: 7 * s},
		{Party: "C", Slots: 3, Start: 7 * s, End: 55 * s},
		{Party: "C", Slots: 1, Start: 55 * s, End: 60 * s},
		{Party: "A", Slots: 2, Start: 55 * s, End: 75 * s},
	})
	if text, holds := momentsOf5(line, []int{2, 2, 2}); holds || text != "2,4,0 at 0.0 s; 1,2,3 at 7.0 s; never 2,2,2" {
		t.Errorf("%q holds: %v", text, holds)
	}
	if text, holds := momentsOf5(line, []int{3, 2, 1}); !holds {
		t.Errorf("%q does not hold", text)
	}
}

// What takes minutes has its rows and drawings, of a workload that takes none.
func TestRowsOfLongExperiments(t *testing.T) {
	w, on := contested(t, 1)
	var log bytes.Buffer
	l := Lab{Bin: bin, Out: t.TempDir(), Log: &log, Sizes: []int{Launchers}, Placements: 1}
	both, err := l.pairs(t.Context(), w, on)
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.Jobs {
		w.Jobs[i].Class = classesOf2009[i%len(classesOf2009)]
	}
	var rows table
	rows.figure4(&both[0])
	if err := errors.Join(l.drawFigure4(&both[0]), l.figures3And5(t.Context(), &rows, both, startEarly)); err != nil {
		t.Fatal(err)
	}
	drawn(t, l.Out, "hfsp-figure3-big-start-0.05", "hfsp-figure3-medium-start-0.05", "hfsp-figure3-small-start-0.05", "hfsp-figure4a", "hfsp-figure4b", "hfsp-figure4c", "hfsp-figure5-start-0.05")
	if len(rows.rows) != 13 {
		t.Errorf("there are %d rows", len(rows.rows))
	}
	for _, r := range rows.rows {
		if strings.Contains(r.measured, "NaN") || strings.Contains(r.measured, "Inf") || strings.HasPrefix(r.measured, "0.0 s") {
			t.Errorf("%s: %s", r.what, r.measured)
		}
	}
}

// Of games of which one can't be played nothing comes out, and the error says which policy's it is; what nobody waits for ends.
func TestGamesThatFail(t *testing.T) {
	w, on := contested(t, 1)
	l := Lab{Bin: bin}
	good := game{policy: "fifo", workload: w, on: on}
	for want, bad := range map[string]game{
		"hamadryad-policy-nobodys": {policy: "nobodys", workload: w, on: on},
		"settings:1: unknown":      {policy: "hfsp", settings: "nonsense: 1\n", workload: w, on: on},
	} {
		if r, err := l.plays(t.Context(), good, bad, good, good); r != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it comes to %v and the error %v, which should say %q", r, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := l.plays(ctx, good); r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("it comes to %v and the error %v", r, err)
	}
}

// drawn asserts that a folder has these drawings, in order, and nothing else.
func drawn(t *testing.T, folder string, want ...string) {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, strings.TrimSuffix(f.Name(), ".svg"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("drawn is %v, want %v", got, want)
	}
}

package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// outsider builds the policy of testdata/outsider in a module of its own, which knows
// this project by a replace directive only.
func outsider(t *testing.T, to, version string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	// The versions of this project's own dependencies, as "go mod tidy" would find them.
	text := strings.Replace(string(mod), "module github.com/hamadryad/hamadryad", "module example.org/lottery", 1)
	if i := strings.Index(text, "\ntool"); i >= 0 {
		text = regexp.MustCompile(`(?ms)^tool (\(.*?^\)|\S+)\n`).ReplaceAllString(text, "")
	}
	text += fmt.Sprintf("\nrequire github.com/hamadryad/hamadryad v0.0.0\n\nreplace github.com/hamadryad/hamadryad => %s\n", root)
	for from, name := range map[string]string{filepath.Join(root, "go.sum"): "go.sum", "testdata/outsider/main.go": "main.go"} {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-mod=mod", "-ldflags", "-X main.version="+version, "-o", to, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("an outsider can't build a policy: %v\n%s", err, out)
	}
}

// drawn is a cluster with an outsider's policy.
type drawn struct {
	*cluster
	program string
}

// set writes settings into the configuration, which the manager watches.
func (d *drawn) set(settings string) {
	d.t.Helper()
	d.write("manager.yaml", d.managerConfig("  path: "+d.program+"\n  memory: 256MiB\n  slowRound: 100ms\n  failuresMax: 2\n  settings: "+settings+"\n"))
}

// shows waits until the policy command prints a text, and returns all that it prints.
func (d *drawn) shows(what string) string {
	d.t.Helper()
	var out string
	eventually(d.t, "policy shows "+what, func() bool {
		out, _ = d.command("policy")
		return strings.Contains(out, what)
	})
	return out
}

// A policy that an outsider wrote passes the kit, runs by path with its settings, is
// taken anew when it was built again, and makes every mistake there is: each is told
// with the call, the cause and the remedy, jobs go on, and right settings mend it.
func TestAnOutsidersPolicy(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "lottery")
	outsider(t, program, "1")
	kit := exec.Command(filepath.Join(binaries, "hamadryad"), "policy", "check", "--seeds", "1", "--restarts", "1", program)
	if out, err := kit.CombinedOutput(); err != nil || !strings.Contains(string(out), "lottery 1 passes") {
		t.Errorf("the kit: %v\n%s", err, out)
	}
	d := &drawn{program: program}
	d.cluster = startCluster(t, options{launchers: 1, slots: 2, policyLines: "  path: " + program + "\n  settings: {order: newest}\n"})
	d.policyRuns()
	look := d.shows("lottery 1: running")
	for _, want := range []string{"program: " + program, "settings (", "{order: newest}", "order: newest", "rounds: last "} {
		if !strings.Contains(look, want) {
			t.Errorf("policy does not show %q:\n%s", want, look)
		}
	}

	// Wrong settings change nothing and are reported with their line.
	d.set("{order: sideways}")
	d.shows(`order: "sideways" is neither oldest nor newest`)
	d.set("{order: oldest}")
	if look = d.shows("\norder: oldest"); strings.Contains(look, "problem (settings)") {
		t.Errorf("the problem stays:\n%s", look)
	}

	// Built again, it is taken when it is asked for.
	outsider(t, program, "2")
	if out, err := d.command("policy", "reload"); err != nil || !strings.Contains(out, "lottery 2 took over") {
		t.Fatalf("reload: %v\n%s", err, out)
	}

	for _, c := range []struct{ mistake, says string }{
		{"NaN", `pool 0 ("drum"): FairShare is NaN: it must be a finite number`},
		{"huge", "policy Status: unfit answer: the answer is larger than 4194304 bytes: the policy must show less"},
		{"control characters", `\x1b]0;gotcha\adrum\r\n`},
		{"panic in Status", "the policy panicked in Status: status on purpose"},
		{"panic in AssignTasks", "the policy panicked in AssignTasks: assign on purpose"},
		{"memory", "more than the 256 MiB that it may have (policy.memory): the policy must keep less, or the site allow more"},
		{"slow", "counts as slow: policy.slowRound"},
	} {
		d.set(fmt.Sprintf("{mistake: %s}", c.mistake))
		// The mistake may be one that rounds show: it must be in force before them.
		eventually(t, "the mistake is in force", func() bool {
			out, _ := d.command("policy")
			return strings.Contains(out, "{mistake: "+c.mistake+"}") || strings.Contains(out, c.says)
		})
		j := d.submit("file", 0, 4, 2)
		d.shows(c.says)
		j.succeeds()
		if err := os.RemoveAll(d.path("out")); err != nil {
			t.Fatal(err)
		}
		d.mended()
	}

	// A panic in Start, after it took such settings, leaves the old one where it is.
	d.set("{mistake: panic in Start}")
	d.shows("{mistake: panic in Start}")
	if out, err := d.command("policy", "reload"); err == nil || !strings.Contains(out, "the policy panicked in Start: start on purpose") {
		t.Errorf("reload: %v\n%s", err, out)
	}
	d.mended()

	// A panic in Check is reported by the command that checks.
	wrong := d.write("wrong.yaml", "policy:\n  path: "+program+"\n  settings: {mistake: panic in Check}\n")
	if out, err := d.command("config", "check", wrong); err == nil || !strings.Contains(out, "policy Check: panic: the policy panicked in Check: check on purpose") {
		t.Errorf("config check: %v\n%s", err, out)
	}

	// What it started ends with it.
	d.set("{mistake: children}")
	child := d.born()
	d.set("{mistake: panic in Terminate}")
	d.shows("{mistake: panic in Terminate}")
	if out, err := d.command("policy", "reload"); err != nil {
		t.Errorf("reload: %v\n%s", err, out)
	}
	eventually(t, "its child is gone", func() bool { return dead(child) })
}

// mended gives the policy settings without a mistake, and waits until it has them.
func (d *drawn) mended() {
	d.t.Helper()
	d.set("{order: oldest}")
	eventually(d.t, "the policy runs with right settings", func() bool {
		out, _ := d.command("policy")
		return strings.Contains(out, "lottery 2: running") && strings.Contains(out, "{order: oldest}")
	})
}

// born waits for the policy's child and returns its process.
func (d *drawn) born() int {
	d.t.Helper()
	said := regexp.MustCompile(`a child was born\\?" child=(\d+)`)
	eventually(d.t, "a child is born", func() bool { return said.MatchString(d.manager.log.String()) })
	pid, err := strconv.Atoi(said.FindStringSubmatch(d.manager.log.String())[1])
	if err != nil {
		d.t.Fatal(err)
	}
	return pid
}

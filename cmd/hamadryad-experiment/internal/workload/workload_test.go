package workload

import (
	"io"
	"log/slog"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/plugins/fair"
	"github.com/hamadryad/hamadryad/plugins/fifo"
)

// What runs is preempted by nobody under FIFO, every job ends, and one seed is one
// history.
func TestPlayIsOneHistory(t *testing.T) {
	w := Random(3)
	a, err := Play(t.Context(), w, policy.InProcess(fifo.New()), "")
	if err != nil {
		t.Fatal(err)
	}
	if a.Jobs != len(w.Jobs) || a.Preempted != 0 {
		t.Errorf("%d of %d jobs ended, %d attempts were preempted; all and none should be", a.Jobs, len(w.Jobs), a.Preempted)
	}
	tasks := 0
	for _, j := range w.Jobs {
		tasks += len(j.Maps) + len(j.Reduces)
	}
	if a.Attempts != tasks {
		t.Errorf("%d attempts ended of %d tasks", a.Attempts, tasks)
	}
	b, err := Play(t.Context(), Random(3), policy.InProcess(fifo.New()), "")
	if err != nil || a != b {
		t.Errorf("the same seed gave %+v and then %+v, error %v", a, b, err)
	}
}

// A policy decides the same in this process and as the plug-in binary that a site runs.
func TestInProcessAndAsAPluginAreOneHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hamadryad-policy-fair")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "github.com/hamadryad/hamadryad/plugins/fair/hamadryad-policy-fair").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	plugin, err := policy.Launch(t.Context(), policy.Options{Path: path, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	w := Random(5)
	outside, err := Play(t.Context(), w, plugin, "")
	if err != nil {
		t.Fatal(err)
	}
	inside, err := Play(t.Context(), w, policy.InProcess(fair.New()), "")
	if err != nil || inside != outside || inside.Jobs != len(w.Jobs) {
		t.Errorf("in this process %+v, as a plug-in %+v, error %v", inside, outside, err)
	}
}

package policycheck_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/policy/policycheck"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedtest"
)

// few keeps the number of processes small: every restart is one.
var few = schedtest.Options{Seeds: 2, Restarts: 2}

func plugin(t *testing.T) *policycheck.Driver {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hamadryad-policy-fifo")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "github.com/hamadryad/hamadryad/plugins/fifo/hamadryad-policy-fifo")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	d := policycheck.Plugin(policy.Options{Path: path})
	t.Cleanup(d.Close)
	return d
}

func TestFIFOPluginConforms(t *testing.T) {
	r := schedtest.Check(t.Context(), plugin(t), few)
	for _, p := range r.Problems {
		t.Error(p)
	}
	t.Logf("%d games, %+v", r.Games, r.Tally)
}

func TestFIFODecidesAlikeInProcessAndOut(t *testing.T) {
	r := schedtest.Compare(t.Context(), schedtest.InProcess(fifo.New), plugin(t), schedtest.Options{Seeds: 10})
	for _, p := range r.Problems {
		t.Error(p)
	}
	if r.Games < 20 {
		t.Errorf("%d games", r.Games)
	}
}

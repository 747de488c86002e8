package rounds_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hamadryad/hamadryad/engine/core/internal/coretest"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/split"
	"github.com/hamadryad/hamadryad/mapreduce/streaming"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The core never suspends a task of a command line with -noSuspend, and suspends those without it.
// Policies are notified of the flag.
func TestNoSuspendIsKept(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(in, []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		more    []string
		refused scheduler.RefusalReason
	}{{nil, scheduler.NotRefused}, {[]string{"-noSuspend"}, scheduler.Unsupported}} {
		h := coretest.New(t)
		h.StartPolicy(0)
		l := h.Launcher("a", 3)
		j := h.Job(&wire.JobSpec{Name: "streaming", Graph: planned(t, append(c.more, "-input", in, "-output", in+".out", "-mapper", "cat", "-reducer", "cat"))})
		for _, s := range j.ForPolicy().Stages {
			if s.NoSuspend != (len(c.more) > 0) {
				t.Errorf("with %v the policy is told %t of stage %s", c.more, s.NoSuspend, s.Name)
			}
		}
		if len(j.Bundles) < 2 {
			t.Fatalf("the plan has %d bundles, want a map and a reduce", len(j.Bundles))
		}
		other := h.Job(coretest.Maps(1))
		for i, b := range j.Bundles[:2] { // the map, then the reduce
			a := h.RunBundle(j, i, l).Attempts[0]
			reason, why := h.Rounds.Preemption.Preempt(scheduler.Preempt{For: other.ID, Victims: []scheduler.AttemptID{a.ID}, Mode: scheduler.PreemptSuspend})
			if reason != c.refused || a.Suspending() != (c.refused == scheduler.NotRefused) {
				t.Errorf("with %v to suspend %v is refused with %v: %s", c.more, b.ID(), reason, why)
			}
			h.Finish(a)
		}
		h.Checked()
	}
}

// planned returns the graph that the manager gets for a command line.
func planned(t *testing.T, args []string) *wire.Graph {
	t.Helper()
	g, err := job.Build(streaming.Definition(), args, split.Planner(t.Context(), nil))
	if err != nil {
		t.Fatal(err)
	}
	w, err := plan.Graph(g)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

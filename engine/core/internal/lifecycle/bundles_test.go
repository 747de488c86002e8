package lifecycle_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/engine/core/internal/coretest"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// offered is the bundles of a job that the events make ready for a policy, with the launchers that
// each avoids.
func offered(events []scheduler.Event, was map[scheduler.BundleID][]scheduler.LauncherID) map[scheduler.BundleID][]scheduler.LauncherID {
	for _, e := range events {
		switch e := e.(type) {
		case scheduler.BundleReady:
			was[e.Bundle] = e.Avoid
		case scheduler.BundleWithdrawn:
			delete(was, e.Bundle)
		case scheduler.Outcome:
			delete(was, e.Launch.Bundle)
		}
	}
	return was
}

// Readers are offered when the last output that they wait for is there, and withdrawn when one of
// the outputs is lost.
func TestBundlesAreOfferedAsTheirInputsOpen(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	a, b := h.Launcher("a", 4), h.Launcher("b", 4)
	j := h.Job(coretest.MapReduce(2, 3))
	store := func(i int, l *state.Launcher) {
		h.Finish(h.RunBundle(j, i, l).Attempts[0], &wire.StoredOutput{From: uint32(i), Bytes: 3, PartitionBytes: []int64{1, 1, 1}})
	}
	seen := offered(h.NotifiedEvents(), map[scheduler.BundleID][]scheduler.LauncherID{})
	store(0, a)
	if offered(h.NotifiedEvents(), seen); len(seen) != 1 {
		t.Errorf("after one of two writers %d bundles are offered", len(seen))
	}
	store(1, b)
	if offered(h.NotifiedEvents(), seen); len(seen) != 3 {
		t.Errorf("after both %d bundles are offered", len(seen))
	}
	h.Checked()
	h.Membership.LauncherLost(&wire.LauncherLost{Launcher: uint64(b.ID), Incarnation: 1, Reason: "test"})
	_, again := seen[j.Bundles[1].ID()]
	if offered(h.NotifiedEvents(), seen); again || len(seen) != 1 || seen[j.Bundles[2].ID()] != nil {
		t.Errorf("after its loss %v are offered", seen)
	}
	if _, again = seen[j.Bundles[1].ID()]; !again {
		t.Error("the writer whose output is gone is not offered")
	}
	h.Checked()
}

// A bundle avoids a launcher where it failed, and its job one where several bundles did: the policy
// is notified. If no other launcher is left, even the last one is no longer avoided.
func TestLaunchersWhereAttemptsFailed(t *testing.T) {
	h := coretest.New(t)
	h.Step.Set.ExcludeAfter, h.Step.Set.AttemptsMax = 2, 10
	h.StartPolicy(0)
	a, b := h.Launcher("a", 8), h.Launcher("b", 8)
	j := h.Job(coretest.Maps(4))
	seen := map[scheduler.BundleID][]scheduler.LauncherID{}
	avoided := func(i int) []scheduler.LauncherID { return seen[j.Bundles[i].ID()] }
	fail := func(i int, l *state.Launcher) {
		h.Fail(h.RunBundle(j, i, l).Attempts[0], "wrong")
		offered(h.NotifiedEvents(), seen)
	}
	fail(0, a)
	if !slices.Equal(avoided(0), []scheduler.LauncherID{a.ID}) || avoided(1) != nil {
		t.Errorf("after one failure %v and %v are avoided", avoided(0), avoided(1))
	}
	fail(1, a)
	if !slices.Equal(avoided(2), []scheduler.LauncherID{a.ID}) {
		t.Errorf("after two failures the others avoid %v", avoided(2))
	}
	if j.Bundles[3].Unavailable(&a.Launcher) == "" {
		t.Error("and one may run there all the same")
	}
	h.Membership.LauncherLost(&wire.LauncherLost{Launcher: uint64(b.ID), Incarnation: 1, Reason: "test"})
	h.Bundles.RelaxExclusions()
	offered(h.NotifiedEvents(), seen)
	for i := range 4 {
		if len(avoided(i)) > 0 || j.Bundles[i].Unavailable(&a.Launcher) != "" {
			t.Errorf("bundle %d still avoids %v", i, avoided(i))
		}
	}
	h.Checked()
}

// A launcher where attempts of several jobs failed is excluded for the site. The policy is
// notified, as is a policy that starts meanwhile.
func TestThePolicyIsToldWhomTheSiteAvoids(t *testing.T) {
	h := coretest.New(t)
	h.Step.Set.ExcludeAfter, h.Step.Set.ExcludeJobs, h.Step.Set.ExcludeSharePercent = 1, 2, 50
	h.StartPolicy(0)
	a, _ := h.Launcher("a", 8), h.Launcher("b", 8)
	var told view.View
	tell := func(events []scheduler.Event) {
		if err := told.Apply(scheduler.Round{Number: told.Round() + 1, Now: h.Step.Now, Events: events}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []bool{false, true} {
		spec := coretest.Maps(1)
		spec.Principal = &wire.Principal{Name: fmt.Sprintf("user-%t", want)} // jobs of one user that run one program count once
		h.Fail(h.RunBundle(h.Job(spec), 0, a).Attempts[0], "wrong")
		tell(h.NotifiedEvents())
		if got := told.Launcher(a.ID).Excluded; got != want || told.Launcher(a.ID).Closed() != want {
			t.Errorf("the policy takes it for avoided: %t, want %t", got, want)
		}
	}
	h.Rounds.Start(&wire.PolicyStart{Generation: 9, Policy: "test"})
	h.Events.BuildSnapshot()
	for _, todo := range h.Step.Effects() {
		if s, is := todo.Action.(step.StartPolicy); is {
			var fresh view.View
			if err := fresh.Start(s.Snapshot()); err != nil || !fresh.Launcher(a.ID).Excluded {
				t.Errorf("one that starts does not know: %v", err)
			}
			return
		}
	}
	t.Error("no other starts")
}

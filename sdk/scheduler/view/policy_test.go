package view

import (
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestPolicyQuestions asks for what policies look at in each round.
func TestPolicyQuestions(t *testing.T) {
	v := &View{}
	two := []scheduler.SlotCount{{Kind: "map", Count: 2}}
	launch := scheduler.Launch{Bundle: 1, Launchers: []scheduler.LauncherID{1}}
	group := []scheduler.Group{{Kind: "map", Slots: 1}}
	stages := []scheduler.Stage{{Groups: 3, Kind: "map", Slots: 2}, {Groups: 1, Kind: "gpu", Slots: 1}, {Groups: 1, Kind: "map", Slots: 1}}
	apply(t, v, scheduler.Round{
		Number: 1, Now: 5,
		Events: []scheduler.Event{
			scheduler.LauncherJoined{Launcher: 1, Host: "h1", Slots: two},
			scheduler.LauncherJoined{Launcher: 2, Host: "h2", Slots: two},
			scheduler.LauncherDraining{Launcher: 2, Draining: true},
			scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: stages}},
			scheduler.BundleReady{Job: 1, Bundle: 1, Groups: group},
			scheduler.BundleReady{Job: 1, Bundle: 2, Groups: group},
			scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{1}, Launch: launch},
		},
		Offers: []scheduler.Offer{{Launcher: 1, Reserved: []scheduler.Reservation{{Job: 1, Kind: "map", Slots: 1}}}},
	})
	j, b := v.Job(1), v.Bundle(2)
	if got := v.Capacity.OpenSlots(); got["map"] != 2 || !v.LaunchersChanged() {
		t.Errorf("got open slots %v, changed %t, want 2 map slots and true", got, v.LaunchersChanged())
	}
	if got := j.Kinds(); !slices.Equal(got, []scheduler.SlotKind{"map", "gpu"}) {
		t.Errorf("got kinds %v", got)
	}
	if got := j.WaitingSlots("map"); got != 5 { // two groups of two slots, and one of one
		t.Errorf("got %d waiting slots, want 5", got)
	}
	if got := v.Capacity.ReservedSlots(1, "map"); got != 1 {
		t.Errorf("got %d reserved slots, want 1", got)
	}
	if where, ok := v.FitReserved(b); !ok || where[0] != 1 || v.Capacity.ReservedSlots(1, "map") != 0 {
		t.Errorf("got launchers %v, %t for what is reserved, want launcher 1", where, ok)
	}
	if _, ok := v.FitReserved(b); ok {
		t.Error("a bundle fits where nothing is reserved any more")
	}
	if v.Sooner(0, 5) != 0 || v.Sooner(0, 7) != 7 || v.Sooner(7, 6) != 6 || v.Sooner(6, 7) != 6 {
		t.Error("the sooner of two times is wrong")
	}
	var list BundleList
	list.Add(b)
	b.LeaveOut()
	if left := slices.Collect(list.Launchable()); len(left) != 0 || !b.LeftOut() || len(slices.Collect(list.All())) != 1 {
		t.Errorf("got %v of a list whose bundle is left out", left)
	}
	apply(t, v, scheduler.Round{Number: 2, Now: 6, Events: []scheduler.Event{
		scheduler.AttemptStarted{Job: 1, Bundle: 1, Attempt: 1, Launcher: 1},
		scheduler.AttemptEnded{At: 6, Attempt: 1, Outcome: scheduler.Finished},
	}})
	if a := v.LiveOrEnded(1); a == nil || v.Attempt(1) != nil || v.LiveOrEnded(2) != nil {
		t.Errorf("got %v for the attempt that ended", a)
	}
	if v.LaunchersChanged() || b.LeftOut() || len(slices.Collect(list.Launchable())) != 1 {
		t.Error("the last round's marks are there still")
	}
	list.Remove(b)
	if len(slices.Collect(list.All())) != 0 {
		t.Error("a bundle that was removed is in the list")
	}
	apply(t, v, scheduler.Round{Number: 3, Now: 7})
	if v.LiveOrEnded(1) != nil {
		t.Error("an attempt that ended two rounds ago is known")
	}
}

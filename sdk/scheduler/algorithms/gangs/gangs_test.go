package gangs_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

func group(kind scheduler.SlotKind, slots int) scheduler.Group {
	return scheduler.Group{Kind: kind, Slots: slots, Memory: 4}
}

// site is one launcher with two free slots of kind a, one of kind b and 10 bytes, and a
// bundle of job 1 that is ready since second 1.
func site(t *testing.T, groups ...scheduler.Group) (*view.View, *view.Bundle) {
	t.Helper()
	v := &view.View{}
	if err := v.Start(scheduler.Snapshot{}); err != nil {
		t.Fatal(err)
	}
	slots := []scheduler.SlotCount{{Kind: "a", Count: 2}, {Kind: "b", Count: 1}}
	play(t, v, 1, scheduler.LauncherJoined{Launcher: 1, Slots: slots, Memory: 10},
		scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 9, Kind: "a", Slots: 1}}}},
		scheduler.BundleReady{At: at(1), Job: 1, Bundle: 1, Groups: groups})
	return v, v.Bundle(1)
}

func at(second int) scheduler.Time { return scheduler.Time(second) * scheduler.Time(time.Second) }

func play(t *testing.T, v *view.View, second int, events ...scheduler.Event) {
	t.Helper()
	free := []scheduler.SlotCount{{Kind: "a", Count: 2}, {Kind: "b", Count: 1}}
	err := v.Apply(scheduler.Round{
		Number: v.Round() + 1, Now: at(second), Events: events, Offers: []scheduler.Offer{{Launcher: 1, Free: free, Memory: 10}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestNeedsAreAddedUpInOrderOfKind(t *testing.T) {
	_, b := site(t, group("b", 2), group("a", 1), group("b", 3))
	if got, want := gangs.Needs(b), []scheduler.SlotCount{{Kind: "a", Count: 1}, {Kind: "b", Count: 5}}; !reflect.DeepEqual(got, want) {
		t.Errorf("needs are %v, want %v", got, want)
	}
	if a, b, none := gangs.Slots(b, "a"), gangs.Slots(b, "b"), gangs.Slots(b, "c"); a != 1 || b != 5 || none != 0 {
		t.Errorf("slots are %d, %d and %d, want 1, 5 and 0", a, b, none)
	}
}

// TestPassedOver: the clock of a bundle starts when it is ready, and anew when its job
// gets a slot. A second attempt is never overdue.
func TestPassedOver(t *testing.T) {
	v, b := site(t, group("a", 1), group("b", 1))
	overdue := func(second int, want bool) {
		t.Helper()
		play(t, v, second)
		if got := gangs.Overdue(v, b, 3*time.Second); got != want {
			t.Errorf("at second %d it is overdue: %t", second, got)
		}
	}
	overdue(3, false)
	overdue(4, true)
	if gangs.Overdue(v, b, 0) {
		t.Error("overdue, although nothing is to be collected for")
	}
	play(t, v, 5, scheduler.BundleReady{At: at(5), Job: 1, Bundle: 2, Groups: []scheduler.Group{group("a", 1)}})
	launch := scheduler.Launch{Bundle: 2, Launchers: []scheduler.LauncherID{1}}
	play(t, v, 6, scheduler.Outcome{At: at(6), Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{1}, Launch: launch})
	overdue(8, false)
	overdue(9, true)
	play(t, v, 10, scheduler.AttemptStarted{At: at(10), Job: 1, Bundle: 2, Attempt: 1, Launcher: 1},
		scheduler.SpeculationOffered{At: at(10), Job: 1, Bundle: 2, Groups: []scheduler.Group{group("a", 1)}})
	if b = v.Bundle(2); !b.SpeculationOffered {
		t.Fatal("no second attempt is offered")
	}
	overdue(60, false)
}

// TestKept: of the kinds that lack; of everything, when slots are not what lacks.
func TestKept(t *testing.T) {
	var kept gangs.Kept
	if kept.Keeps("a") || kept.All() {
		t.Error("something is kept for nobody")
	}
	v, b := site(t, group("b", 1), group("b", 1))
	kept.For(v, b)
	if !kept.Keeps("b") || kept.Keeps("a") || kept.All() {
		t.Errorf("a bundle lacks one slot of kind b: %+v", kept)
	}
	v, b = site(t, group("a", 1), scheduler.Group{Kind: "a", Slots: 1, Memory: 8})
	kept = gangs.Kept{}
	kept.For(v, b)
	if !kept.Keeps("a") || !kept.Keeps("b") || !kept.All() {
		t.Errorf("a bundle lacks memory: %+v", kept)
	}
}

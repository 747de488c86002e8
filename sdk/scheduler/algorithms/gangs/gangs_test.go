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

// TestKept: what a bundle that lacks something could use is kept, and no more.
func TestKept(t *testing.T) {
	for _, c := range []struct {
		name   string
		groups []scheduler.Group
		a, b   int   // slots kept
		memory int64 // kept beside
	}{
		{"one slot of the other kind lacks", []scheduler.Group{group("b", 1), group("b", 1)}, 0, 1, 0},
		{"more slots than are free", []scheduler.Group{group("b", 2)}, 0, 1, 0},
		{"memory lacks, where the slots are complete", []scheduler.Group{{Kind: "a", Slots: 1, Memory: 12}}, 1, 0, 10},
		{"memory that no launcher has", []scheduler.Group{{Kind: "a", Slots: 1, Memory: 99}}, 0, 0, 0},
		{"a slot of one kind, and none of the other", []scheduler.Group{{Kind: "a", Slots: 1}, {Kind: "c", Slots: 1}}, 1, 0, 0},
	} {
		v, b := busy(t, c.groups, 0)
		var kept gangs.Holdback
		kept.HoldFor(v, b, time.Minute)
		_, left := v.Capacity.Room(v.Launcher(1), 0, "a")
		if x, y := kept.Slots("a"), kept.Slots("b"); x != c.a || y != c.b || v.Capacity.FreeSlots("a") != 2-x || v.Capacity.FreeSlots("b") != 1-y || left != 10-c.memory {
			t.Errorf("%s: %d and %d slots are kept, %d memory is left", c.name, x, y, left)
		}
		kept.HoldFor(v, b, time.Minute) // once is enough
		if x := kept.Slots("a"); x != c.a {
			t.Errorf("%s: %d slots are kept now", c.name, x)
		}
		kept.Release(v)
		if v.Capacity.FreeSlots("a") != 2 || v.Capacity.FreeSlots("b") != 1 {
			t.Errorf("%s: not all is free again", c.name)
		}
	}
}

// TestNothingIsKeptWhereItMayNotRun: nothing is kept on a launcher where the bundle failed, on a
// draining one, and on one that the caller excludes.
func TestNothingIsKeptWhereItMayNotRun(t *testing.T) {
	groups := []scheduler.Group{{Kind: "a", Slots: 4}}
	keeps := func(v *view.View, b *view.Bundle, not ...scheduler.LauncherID) int {
		var kept gangs.Holdback
		kept.HoldFor(v, b, time.Minute, not...)
		defer kept.Release(v)
		return kept.Slots("a")
	}
	v, b := busy(t, groups, 0)
	if n := keeps(v, b); n != 2 {
		t.Errorf("%d slots are kept, want 2", n)
	}
	if n := keeps(v, b, 1); n != 0 {
		t.Errorf("%d slots are kept on a launcher that was named", n)
	}
	v, b = busy(t, groups, 1)
	if n := keeps(v, b); n != 0 {
		t.Errorf("%d slots are kept where the bundle failed", n)
	}
	v, b = busy(t, groups, 0)
	play(t, v, 7, scheduler.LauncherDraining{At: at(7), Launcher: 1, Draining: true})
	if n := keeps(v, b); n != 0 {
		t.Errorf("%d slots are kept on a launcher that drains", n)
	}
}

// TestKeepsMoreWithTime: one launcher at first, then one more each time.
func TestKeepsMoreWithTime(t *testing.T) {
	v := &view.View{}
	var events []scheduler.Event
	var offers []scheduler.Offer
	for id := scheduler.LauncherID(1); id <= 5; id++ {
		events = append(events, scheduler.LauncherJoined{Launcher: id, Slots: []scheduler.SlotCount{{Kind: "a", Count: 2}}})
		offers = append(offers, scheduler.Offer{Launcher: id, Free: []scheduler.SlotCount{{Kind: "a", Count: 1}}})
	}
	events = append(events, scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 1, Kind: "a", Slots: 2}}}},
		scheduler.BundleReady{At: at(1), Job: 1, Bundle: 1, Groups: []scheduler.Group{{Kind: "a", Slots: 2}}})
	for i, want := range []int{1, 1, 2, 3, 4, 5, 5} { // after 1, 2, ... times 10 s
		if err := v.Apply(scheduler.Round{Number: uint64(i + 1), Now: at(1 + 10*i), Events: events, Offers: offers}); err != nil {
			t.Fatal(err)
		}
		events = nil
		var kept gangs.Holdback
		kept.HoldFor(v, v.Bundle(1), 10*time.Second)
		if n := kept.Slots("a"); n != want {
			t.Errorf("after %d s %d slots are kept, want %d", 10*i, n, want)
		}
	}
}

// TestWithoutKeepsWhatIsLeft: work inside Without may use what is kept, and the rest is kept again.
func TestWithoutKeepsWhatIsLeft(t *testing.T) {
	v, b := busy(t, []scheduler.Group{{Kind: "a", Slots: 4}}, 0)
	var kept gangs.Holdback
	kept.HoldFor(v, b, time.Minute)
	took := kept.Without(v, func() bool { return v.Capacity.TakeRoom(v.Launcher(1), &scheduler.Group{Kind: "a", Slots: 1}) })
	if n := kept.Slots("a"); !took || n != 1 || v.Capacity.FreeSlots("a") != 0 {
		t.Errorf("it was taken: %t, %d slots are kept, %d free", took, n, v.Capacity.FreeSlots("a"))
	}
}

// busy is one launcher with two free slots of four of kind a, one of two of kind b, one of
// kind c that is taken, and 10 bytes free of 20, with a bundle that avoids a launcher.
func busy(t *testing.T, groups []scheduler.Group, avoids scheduler.LauncherID) (*view.View, *view.Bundle) {
	t.Helper()
	v := &view.View{}
	if err := v.Start(scheduler.Snapshot{}); err != nil {
		t.Fatal(err)
	}
	slots := []scheduler.SlotCount{{Kind: "a", Count: 4}, {Kind: "b", Count: 2}, {Kind: "c", Count: 1}}
	ready := scheduler.BundleReady{At: at(1), Job: 1, Bundle: 1, Groups: groups}
	if avoids != 0 {
		ready.Avoid = []scheduler.LauncherID{avoids}
	}
	play(t, v, 1, scheduler.LauncherJoined{Launcher: 1, Slots: slots, Memory: 20},
		scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 9, Kind: "a", Slots: 1}}}}, ready)
	return v, v.Bundle(1)
}

// TestCollect: slots are collected for a bundle that is overdue and would fit an empty cluster, once, and
// at most four bundles are looked at.
func TestCollect(t *testing.T) {
	v, b := site(t, group("a", 2), group("b", 1))
	play(t, v, 40)
	var kept gangs.Holdback
	if kept.Collect(v, b, time.Minute) || kept.Any() {
		t.Error("slots are collected for a bundle that is not overdue")
	}
	if !kept.Collect(v, b, 30*time.Second) || kept.Slots("a") != 2 || v.Capacity.FreeSlots("a") != 0 {
		t.Errorf("got %d slots collected and %d free, want 2 and 0", kept.Slots("a"), v.Capacity.FreeSlots("a"))
	}
	if kept.Collect(v, b, 30*time.Second) {
		t.Error("slots are collected twice for a bundle")
	}
	for range 3 {
		if !kept.WouldFit(v, b) {
			t.Error("a bundle that fits an empty cluster is said not to")
		}
	}
	if kept.WouldFit(v, b) {
		t.Error("more than four bundles are looked at")
	}
	kept.ResetTries()
	if !kept.WouldFit(v, b) {
		t.Error("no bundle is looked at after ResetTries")
	}
}

func TestDescribe(t *testing.T) {
	v, b := site(t, group("a", 2), group("b", 1))
	if got, want := gangs.Describe(v, b), "bundle-1 needs 2 a slots (2 free) and 1 b slots (1 free) with 0 MiB of memory for its 2 groups at once"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !gangs.Large(b) {
		t.Error("a gang is not large")
	}
}

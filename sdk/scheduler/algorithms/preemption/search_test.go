package preemption_test

import (
	"reflect"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// full is three launchers of two slots and 10 bytes, each full with two attempts of job
// 1, of one slot and 4 bytes: attempts 1 and 2 on launcher 1, and so on.
func full(t *testing.T) *view.View {
	t.Helper()
	v := &view.View{}
	if err := v.Start(scheduler.Snapshot{}); err != nil {
		t.Fatal(err)
	}
	job := scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 100, Kind: "default", Slots: 1}}}
	var joins, started []scheduler.Event
	var offers []scheduler.Offer
	joins = append(joins, scheduler.JobSubmitted{Job: job})
	for i := range scheduler.LauncherID(3) {
		joins = append(joins, scheduler.LauncherJoined{Launcher: i + 1, Slots: []scheduler.SlotCount{{Kind: "default", Count: 2}}, Memory: 10})
		offers = append(offers, scheduler.Offer{Launcher: i + 1, Memory: 2})
	}
	for i := range scheduler.AttemptID(6) {
		launch := scheduler.Launch{Bundle: scheduler.BundleID(i + 1), Launchers: []scheduler.LauncherID{scheduler.LauncherID(i/2 + 1)}}
		joins = append(joins, scheduler.BundleReady{Job: 1, Bundle: launch.Bundle, Groups: []scheduler.Group{{Kind: "default", Slots: 1, Memory: 4}}})
		started = append(started,
			scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{i + 1}, Launch: launch},
			scheduler.AttemptStarted{Job: 1, Bundle: launch.Bundle, Attempt: i + 1, Launcher: launch.Launchers[0]})
	}
	play(t, v, offers, joins...)
	play(t, v, offers, started...)
	return v
}

func play(t *testing.T, v *view.View, offers []scheduler.Offer, events ...scheduler.Event) {
	t.Helper()
	if err := v.Apply(scheduler.Round{Number: v.Round() + 1, Events: events, Offers: offers}); err != nil {
		t.Fatal(err)
	}
}

// wants makes a bundle ready.
func wants(t *testing.T, v *view.View, avoid []scheduler.LauncherID, groups ...scheduler.Group) *view.Bundle {
	t.Helper()
	play(t, v, nil, scheduler.BundleReady{Job: 1, Bundle: 10, Groups: groups, Avoid: avoid})
	return v.Bundle(10)
}

func slots(n int, memory int64) scheduler.Group {
	return scheduler.Group{Kind: "default", Slots: n, Memory: memory}
}

// find searches attempts in an order, and returns the attempts that are stopped and those that are
// spared.
func find(s preemption.Search, order ...scheduler.AttemptID) (victims []scheduler.AttemptID, where []scheduler.LauncherID, spared []scheduler.AttemptID) {
	next := 0
	places, where := s.Find(func() []*view.Attempt {
		if next == len(order) {
			return nil
		}
		next++
		return []*view.Attempt{s.View.Attempt(order[next-1])}
	}, func(place int) { spared = append(spared, order[place]) })
	for _, place := range places {
		victims = append(victims, order[place])
	}
	return victims, where, spared
}

func want[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestNoMoreThanItTakes: two slots on one machine suffice. Victims elsewhere are spared, and the
// slots that the bundle fits into stay taken.
func TestNoMoreThanItTakes(t *testing.T) {
	v := full(t)
	b := wants(t, v, nil, slots(2, 0))
	victims, where, spared := find(preemption.Search{View: v, Bundle: b, Most: 64}, 1, 3, 5, 4, 6, 2)
	want(t, "victims", victims, []scheduler.AttemptID{3, 4})
	want(t, "where", where, []scheduler.LauncherID{2})
	want(t, "spared", spared, []scheduler.AttemptID{5, 1})
	if n := v.Capacity.FreeSlots("default"); n != 0 {
		t.Errorf("%d slots are free beside what the bundle is to have", n)
	}
}

// TestNothingWhereItDoesNotFit: every candidate that was tried is spared, and nothing stays taken
// or released, neither without enough victims nor at the bound.
func TestNothingWhereItDoesNotFit(t *testing.T) {
	v := full(t)
	b := wants(t, v, nil, slots(3, 0))
	for most, tried := range map[int]int{64: 6, 2: 2} {
		victims, where, spared := find(preemption.Search{View: v, Bundle: b, Most: most}, 1, 2, 3, 4, 5, 6)
		if victims != nil || where != nil || len(spared) != tried || v.Capacity.FreeSlots("default") != 0 {
			t.Errorf("of at most %d: victims %v, where %v, spared %v, %d slots free", most, victims, where, spared, v.Capacity.FreeSlots("default"))
		}
	}
}

// TestTheSuspendedHoldNoSlots: to kill one frees memory, and no slot.
func TestTheSuspendedHoldNoSlots(t *testing.T) {
	v := full(t)
	b := wants(t, v, nil, slots(1, 4))
	play(t, v, []scheduler.Offer{{Launcher: 1, Memory: 2, Suspended: 1, Held: 4}}, scheduler.AttemptSuspended{Attempt: 1}) // its slot is taken already
	victims, _, _ := find(preemption.Search{View: v, Bundle: b, Most: 64}, 1)
	want(t, "for its slot", victims, nil)
	play(t, v, []scheduler.Offer{{Launcher: 1, Free: []scheduler.SlotCount{{Kind: "default", Count: 1}}, Memory: 2, Suspended: 1, Held: 4}})
	victims, _, _ = find(preemption.Search{View: v, Bundle: b, Most: 64}, 1)
	want(t, "for its memory", victims, []scheduler.AttemptID{1})
}

// TestWhereTheBundleMayNotGo: a launcher that it avoids, or that is draining, is no use to it.
func TestWhereTheBundleMayNotGo(t *testing.T) {
	v := full(t)
	b := wants(t, v, []scheduler.LauncherID{3}, slots(1, 0))
	play(t, v, nil, scheduler.LauncherDraining{Launcher: 2, Draining: true})
	s := preemption.Search{View: v, Bundle: b, Most: 64}
	for id, useful := range map[scheduler.AttemptID]bool{1: true, 3: false, 5: false} {
		if got := s.Useful([]*view.Attempt{v.Attempt(id)}); got != useful {
			t.Errorf("attempt %d is useful: %t", id, got)
		}
	}
	victims, where, _ := find(s, 5, 4, 3, 6, 2)
	want(t, "victims", victims, []scheduler.AttemptID{2})
	want(t, "where", where, []scheduler.LauncherID{1})
}

// TestSuspendedWorkKeepsItsMemory.
func TestSuspendedWorkKeepsItsMemory(t *testing.T) {
	v := full(t)
	b := wants(t, v, nil, slots(1, 6))
	mark := v.Capacity.Mark()
	victims, _, _ := find(preemption.Search{View: v, Bundle: b, Most: 64}, 1)
	want(t, "killed", victims, []scheduler.AttemptID{1})
	v.Capacity.Undo(mark)
	victims, _, _ = find(preemption.Search{View: v, Bundle: b, Most: 64, Suspend: true}, 1)
	want(t, "suspended", victims, nil)
}

// TestSuspendedWorkLeavesMemoryForSwap.
func TestSuspendedWorkLeavesMemoryForSwap(t *testing.T) {
	v := full(t)
	b := wants(t, v, nil, slots(1, 5))
	play(t, v, nil, scheduler.LauncherLost{Launcher: 2}, scheduler.AttemptEnded{Attempt: 3, Outcome: scheduler.Lost}, scheduler.AttemptEnded{Attempt: 4, Outcome: scheduler.Lost},
		scheduler.LauncherJoined{Launcher: 2, Slots: []scheduler.SlotCount{{Kind: "default", Count: 2}}, Memory: 10, Swap: 3})
	for i := range scheduler.AttemptID(2) {
		launch := scheduler.Launch{Bundle: scheduler.BundleID(i + 20), Launchers: []scheduler.LauncherID{2}}
		play(t, v, []scheduler.Offer{{Launcher: 2, Memory: 2, Swap: 3}},
			scheduler.BundleReady{Job: 1, Bundle: launch.Bundle, Groups: []scheduler.Group{slots(1, 4)}},
			scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{i + 20}, Launch: launch},
			scheduler.AttemptStarted{Job: 1, Bundle: launch.Bundle, Attempt: i + 20, Launcher: 2})
	}
	victims, where, _ := find(preemption.Search{View: v, Bundle: b, Most: 64, Suspend: true}, 1, 20)
	want(t, "victims", victims, []scheduler.AttemptID{20})
	want(t, "where", where, []scheduler.LauncherID{2})
}

// TestNoMoreAreSuspendedThanMayBe: an attempt beyond the bound is left out, and spared.
func TestNoMoreAreSuspendedThanMayBe(t *testing.T) {
	v := full(t)
	b := wants(t, v, nil, slots(1, 0), slots(1, 0))
	s := preemption.Search{View: v, Bundle: b, Most: 64, Suspend: true, Limits: scheduler.Limits{SuspendedMax: 1, SuspendedPercent: 100}}
	victims, where, spared := find(s, 1, 2, 4)
	want(t, "victims", victims, []scheduler.AttemptID{1, 4})
	want(t, "where", where, []scheduler.LauncherID{1, 2})
	want(t, "spared", spared, []scheduler.AttemptID{2})
}

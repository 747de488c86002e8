package preemption_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
)

// TestUnits: launches that hold slots of the kind may be stopped, but those that are leaving or have not
// started.
func TestUnits(t *testing.T) {
	v := full(t)
	launch := scheduler.Launch{Bundle: 7, Launchers: []scheduler.LauncherID{1}}
	play(t, v, nil, scheduler.BundleReady{Job: 1, Bundle: 7, Groups: []scheduler.Group{slots(1, 0)}},
		scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{7}, Launch: launch})
	leaving := preemption.Leaving{{Attempt: 2, For: 9}, {Attempt: 5, For: 9}}
	var got []scheduler.BundleID
	for _, u := range preemption.Units(v.Job(1), "default", leaving) {
		if u.Slots != 1 || len(u.Live()) != 1 {
			t.Errorf("got %d slots and %d attempts of %v, want 1 and 1", u.Slots, len(u.Live()), u.Bundle.ID)
		}
		got = append(got, u.Bundle.ID)
	}
	if want := []scheduler.BundleID{1, 3, 4, 6}; !reflect.DeepEqual(got, want) {
		t.Errorf("got units of %v, want %v", got, want)
	}
	if units := preemption.Units(v.Job(1), "gpu", nil); len(units) != 0 {
		t.Errorf("got %d units of a kind that no launch holds", len(units))
	}
}

// A group of a gang fails. The manager stops the rest, so that this launch can't be preempted any more.
func TestAFailedLaunchIsNoUnit(t *testing.T) {
	v := full(t)
	launch := scheduler.Launch{Bundle: 7, Launchers: []scheduler.LauncherID{1, 1}}
	play(t, v, nil, scheduler.BundleReady{Job: 1, Bundle: 7, Groups: []scheduler.Group{slots(1, 0), slots(1, 0)}},
		scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{17, 18}, Launch: launch},
		scheduler.AttemptStarted{Job: 1, Bundle: 7, Attempt: 17, Launcher: 1},
		scheduler.AttemptStarted{Job: 1, Bundle: 7, Group: 1, Attempt: 18, Launcher: 1})
	has := func() bool {
		return slices.ContainsFunc(preemption.Units(v.Job(1), "default", nil), func(u *preemption.Unit) bool { return u.Bundle.ID == 7 })
	}
	if !has() {
		t.Fatal("a gang that runs is no unit")
	}
	play(t, v, nil, scheduler.AttemptEnded{Attempt: 18, Outcome: scheduler.Failed})
	if has() {
		t.Error("what is left of a launch that failed is a unit")
	}
}

// TestFindAmong: the victims are those without which the bundle does not fit, and the others are given
// back.
func TestFindAmong(t *testing.T) {
	v := full(t)
	b := wants(t, v, nil, slots(2, 8))
	units := preemption.Units(v.Job(1), "default", nil)
	order := []int{0, 2, 3} // on launchers 1, 2 and 2
	var spared []scheduler.BundleID
	next := 0
	victims, where := preemption.FindAmong(preemption.Search{View: v, Bundle: b, Most: 8}, func() (*preemption.Unit, bool) {
		if next == len(order) {
			return nil, false
		}
		next++
		return units[order[next-1]], true
	}, func(u *preemption.Unit) { spared = append(spared, u.Bundle.ID) })
	p := preemption.Stop(scheduler.Preempt{For: 1}, victims)
	if want := []scheduler.AttemptID{3, 4}; !reflect.DeepEqual(p.Victims, want) || !reflect.DeepEqual(where, []scheduler.LauncherID{2}) {
		t.Errorf("got victims %v for launchers %v, want %v for 2", p.Victims, where, want)
	}
	if want := []scheduler.BundleID{1}; !reflect.DeepEqual(spared, want) {
		t.Errorf("got %v given back, want %v", spared, want)
	}
}

func TestSlots(t *testing.T) {
	var s preemption.Slots[string]
	if s["a"]["map"] != 0 {
		t.Error("the zero value counts something")
	}
	s.Add("a", "map", 2)
	s.Add("a", "map", 1)
	s.Add("b", "gpu", 1)
	if s["a"]["map"] != 3 || s["b"]["gpu"] != 1 || s["b"]["map"] != 0 {
		t.Errorf("got %v", s)
	}
}

package view

import (
	"reflect"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestReadyByKind: what is ready counts in slots for every kind it needs, and is
// walked for the kind of its first group.
func TestReadyByKind(t *testing.T) {
	v := cluster(t)
	gpu := scheduler.Group{Kind: "gpu", Slots: 1}
	wide := scheduler.Group{Kind: "default", Slots: 2}
	ready(t, v, 10, wide)
	ready(t, v, 11, gpu, wide)
	b := ready(t, v, 12, group(0))
	j := v.Job(1)
	walk := func(kind scheduler.SlotKind, after scheduler.BundleID) (ids []scheduler.BundleID) {
		for b := range j.ReadyOfKind(kind, after) {
			ids = append(ids, b.ID)
		}
		return ids
	}
	if d, g, none := j.ReadySlots("default"), j.ReadySlots("gpu"), j.ReadySlots("other"); d != 5 || g != 1 || none != 0 {
		t.Errorf("%d, %d and %d slots ready, want 5, 1 and 0", d, g, none)
	}
	if d, behind, g := walk("default", 0), walk("default", 10), walk("gpu", 0); !reflect.DeepEqual(d, []scheduler.BundleID{10, 12}) ||
		!reflect.DeepEqual(behind, []scheduler.BundleID{12}) || !reflect.DeepEqual(g, []scheduler.BundleID{11}) || walk("other", 0) != nil {
		t.Errorf("walked %v, %v, %v", d, behind, g)
	}
	launch := v.Launch(b, []scheduler.LauncherID{1})
	if got := walk("default", 0); !reflect.DeepEqual(got, []scheduler.BundleID{10}) {
		t.Errorf("after a launch: %v", got)
	}
	apply(t, v, scheduler.Round{Number: v.Round() + 1, Events: []scheduler.Event{
		scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Launch: launch, Attempts: []scheduler.AttemptID{1}},
		scheduler.BundleWithdrawn{Job: 1, Bundle: 11},
	}})
	if d, g := j.ReadySlots("default"), j.ReadySlots("gpu"); d != 2 || g != 0 {
		t.Errorf("%d and %d slots ready, want 2 and 0", d, g)
	}
}

// TestFitAnywhere: the launcher with most room, not the one with the input.
func TestFitAnywhere(t *testing.T) {
	v := cluster(t)
	home := scheduler.Place{Host: "h1", Rack: "r1", Bytes: 1}
	first, second := ready(t, v, 10, group(0, home)), ready(t, v, 11, group(0, home))
	wantFit(t, v, first, 1)
	if got, ok := v.FitAnywhere(second); !ok || !reflect.DeepEqual(got, []scheduler.LauncherID{2}) {
		t.Errorf("FitAnywhere = %v, %t, want launcher 2", got, ok)
	}
}

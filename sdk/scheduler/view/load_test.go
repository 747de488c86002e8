package view

import (
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestLoadsAreUnknownUntilTold(t *testing.T) {
	v := cluster(t)
	l := v.Launcher(2)
	if l.LoadKnown() || l.CPULoad > 0 || l.MemoryLoad > 0 {
		t.Fatalf("the load of a launcher that told none is %v and %v", l.CPULoad, l.MemoryLoad)
	}
	tell := func(round uint64, e ...scheduler.Event) {
		apply(t, v, scheduler.Round{Number: round, Now: 5, Events: e})
	}
	tell(2, scheduler.LauncherLoad{At: 5, Launcher: 2, CPU: 0.5, Memory: 0})
	if !l.LoadKnown() || l.CPULoad != 0.5 || l.MemoryLoad != 0 {
		t.Errorf("the load is %v and %v", l.CPULoad, l.MemoryLoad)
	}
	tell(3, scheduler.LauncherLoad{At: 5, Launcher: 2, CPU: scheduler.LoadUnknown, Memory: scheduler.LoadUnknown})
	if l.LoadKnown() {
		t.Error("a load that became unknown is known")
	}
	tell(4, scheduler.LauncherLoad{At: 5, Launcher: 2, CPU: 1, Memory: 1})
	tell(5, scheduler.LauncherLost{At: 5, Launcher: 2}, scheduler.LauncherJoined{At: 5, Launcher: 2})
	if v.Launcher(2).LoadKnown() {
		t.Error("a launcher that came back has the load of its earlier life")
	}
	if err := v.Apply(scheduler.Round{Number: 6, Now: 5, Events: []scheduler.Event{scheduler.LauncherLoad{At: 5, Launcher: 9}}}); err == nil {
		t.Error("the load of a launcher that is not there was taken")
	}
}

// A withheld launcher gives nothing but reserved slots, over rounds and whatever it offers. One
// that joins again after a loss is not withheld.
func TestAside(t *testing.T) {
	v := cluster(t)
	b := ready(t, v, 1, group(1))
	want := func(when string, free, gpu, withheld int) {
		t.Helper()
		if f, g, a := v.Capacity.FreeSlots("default"), v.Capacity.FreeSlots("gpu"), v.Capacity.Withheld("default"); f != free || g != gpu || a != withheld {
			t.Errorf("%s: %d default and %d gpu slots are free and %d withheld, want %d, %d and %d", when, f, g, a, free, gpu, withheld)
		}
	}
	want("at first", 8, 1, 0)
	for _, l := range v.Launchers() {
		v.Capacity.Withhold(l, true)
	}
	want("all are withheld", 0, 0, 8)
	wantFit(t, v, b)
	apply(t, v, scheduler.Round{Number: 9, Offers: []scheduler.Offer{{
		Launcher: 4, Memory: 10, Free: []scheduler.SlotCount{{Kind: "default", Count: 1}, {Kind: "gpu", Count: 1}},
		Reserved: []scheduler.Reservation{{Job: 1, Kind: "default", Slots: 1, Memory: 1}},
	}}})
	want("after an offer", 0, 0, 7)
	wantFit(t, v, b, 4)
	v.Capacity.Withhold(v.Launcher(2), false)
	v.Capacity.Withhold(v.Launcher(4), false)
	want("two are not any more", 3, 1, 4)
	if _, fits := v.FitIfEmpty(b); !fits {
		t.Error("FitIfEmpty leaves out what is withheld")
	}
	apply(t, v, scheduler.Round{Number: 10, Events: []scheduler.Event{scheduler.LauncherLost{Launcher: 1}}})
	want("one is lost", 3, 1, 2)
	apply(t, v, scheduler.Round{
		Number: 11, Events: []scheduler.Event{scheduler.LauncherJoined{Launcher: 1, Host: "h1", Slots: []scheduler.SlotCount{{Kind: "default", Count: 2}}, Memory: 10}},
		Offers: []scheduler.Offer{{Launcher: 1, Memory: 10, Free: []scheduler.SlotCount{{Kind: "default", Count: 2}}}},
	})
	want("and comes back", 5, 1, 2)
}

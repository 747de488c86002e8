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

func TestTakeAllLeavesWhatIsReserved(t *testing.T) {
	v := cluster(t)
	b := ready(t, v, 1, group(1))
	apply(t, v, scheduler.Round{Number: 9, Offers: []scheduler.Offer{{
		Launcher: 4, Memory: 10, Free: []scheduler.SlotCount{{Kind: "default", Count: 1}, {Kind: "gpu", Count: 1}},
		Reserved: []scheduler.Reservation{{Job: 1, Kind: "default", Slots: 1, Memory: 1}},
	}}})
	for _, l := range v.Launchers() {
		v.TakeAll(l)
	}
	if n, m := v.FreeSlots("default"), v.FreeSlots("gpu"); n != 0 || m != 0 {
		t.Errorf("%d and %d slots are still free", n, m)
	}
	wantFit(t, v, b, 4)
	apply(t, v, scheduler.Round{Number: 10})
	if n, m := v.FreeSlots("default"), v.FreeSlots("gpu"); n != 7 || m != 1 {
		t.Errorf("in the next round %d and %d slots are free", n, m)
	}
}

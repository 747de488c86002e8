package placement

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// site is three launchers of two free slots with these loads of their CPUs.
func site(t *testing.T, loads ...float64) *view.View {
	t.Helper()
	v := &view.View{}
	if err := v.Start(scheduler.Snapshot{}); err != nil {
		t.Fatal(err)
	}
	r := scheduler.Round{Number: 1}
	slots := []scheduler.SlotCount{{Kind: "default", Count: 2}}
	for i, load := range loads {
		id := scheduler.LauncherID(i + 1)
		r.Events = append(r.Events, scheduler.LauncherJoined{Launcher: id, Name: fmt.Sprint("launcher-", id), Slots: slots, Memory: 1000},
			scheduler.LauncherLoad{Launcher: id, CPU: load, Memory: scheduler.LoadUnknown})
		r.Offers = append(r.Offers, scheduler.Offer{Launcher: id, Free: slots, Memory: 1000})
	}
	if err := v.Apply(r); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestBusyLaunchersAreSetAside: they are until they are not busy, or the settings ignore loads.
func TestBusyLaunchersAreSetAside(t *testing.T) {
	v := site(t, 0.95, 0.5, 0.91)
	var b busy
	free := func(want int, refused ...scheduler.LauncherID) {
		t.Helper()
		if got := v.Capacity.FreeSlots("default"); got != want || !slices.Equal(b.launchers, refused) {
			t.Errorf("%d slots are free, and %v refused, want %d and %v", got, b.launchers, want, refused)
		}
	}
	b.start(machineLoad{0.9, 0.9}, v)
	free(2, 1, 3)
	if others := b.byOthers(v); !slices.Equal(others, []scheduler.LauncherID{1, 3}) {
		t.Errorf("other programs keep %v busy", others)
	}
	if text := b.detail(v, "default"); !strings.HasPrefix(text, "4 free default slots are on launchers over their load") {
		t.Errorf("it says %q", text)
	}
	if err := v.Apply(scheduler.Round{Number: 2, Events: []scheduler.Event{scheduler.LauncherLoad{Launcher: 1, CPU: 0.9}, scheduler.LauncherLost{Launcher: 3}}}); err != nil {
		t.Fatal(err)
	}
	b.changed(v, 1)
	b.changed(v, 3)
	free(4)
	b.start(machineLoad{0.1, 0.9}, v)
	free(0, 1, 2)
	b.start(levelSlots{0}, v)
	free(4)
}

// TestFullMemoryTakesNothing: over nine tenths, whatever the slots say.
func TestFullMemoryTakesNothing(t *testing.T) {
	l := &view.Launcher{Slots: []scheduler.SlotCount{{Kind: "default", Count: 4}}, Memory: 1000}
	crowd := Crowd{Runnable: 8, Total: 8}
	for free, want := range map[int64]int{100: 4, 99: 0} {
		l.Offer.Memory = free
		if got := (memoryLoad{}).Cap(l, "default", crowd); got != want {
			t.Errorf("with %d of 1000 bytes free the cap is %d, want %d", free, got, want)
		}
	}
}

package readmodel

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Whether a launcher has room is what a look at each one tells.
func TestRoomIsWhatEachLauncherTells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := []string{"map", "reduce"}
		var launchers []*changes.Launcher
		for range rapid.IntRange(0, 6).Draw(t, "launchers") {
			l := &changes.Launcher{MemoryFree: rapid.Int64Range(0, 4).Draw(t, "memory")}
			for _, kind := range kinds {
				l.Free = append(l.Free, scheduler.SlotCount{Kind: kind, Count: rapid.IntRange(0, 4).Draw(t, kind)})
			}
			launchers = append(launchers, l)
		}
		w := &changes.Waits{
			Needs:  []scheduler.SlotCount{{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Count: rapid.IntRange(1, 4).Draw(t, "slots")}},
			Memory: rapid.Int64Range(0, 4).Draw(t, "need"),
		}
		want := slices.ContainsFunc(launchers, func(l *changes.Launcher) bool {
			return l.MemoryFree >= w.Memory && slices.ContainsFunc(l.Free, func(s scheduler.SlotCount) bool { return s.Kind == w.Needs[0].Kind && s.Count >= w.Needs[0].Count })
		})
		if got := newRoom(launchers).fits(w); got != want {
			t.Fatalf("it fits: %t, want %t", got, want)
		}
	})
}

// Jobs that wait are told apart by whether a launcher that is up has room for them.
func TestFitting(t *testing.T) {
	waiting := func(id scheduler.JobID, ready int, needs ...scheduler.SlotCount) changes.Job {
		j := aJob(id)
		j.Waits = changes.Waits{Ready: ready, Needs: needs, Memory: 2}
		return j
	}
	need := func(kind string, n int) scheduler.SlotCount { return scheduler.SlotCount{Kind: kind, Count: n} }
	m := newModel(t, few, changes.ChangeSet{
		Jobs: []changes.Job{
			waiting(1, 1, need("map", 2)),                    // fits
			waiting(2, 1, need("map", 3)),                    // only where launchers are drained
			waiting(3, 1, need("map", 1), need("reduce", 1)), // of two kinds
			waiting(4, 0), // nothing is ready
		},
		Launchers: []changes.Launcher{
			{ID: 1, Name: "l1", State: "up", Slots: []scheduler.SlotCount{need("map", 2)}, Free: []scheduler.SlotCount{need("map", 2)}, MemoryFree: 2},
			{ID: 2, Name: "l2", State: "drained", Slots: []scheduler.SlotCount{need("map", 9)}, Free: []scheduler.SlotCount{need("map", 9)}, MemoryFree: 9},
		},
	})
	if fit, others, err := m.Fitting(t.Context()); fit != 1 || others != 2 || err != nil {
		t.Errorf("%d fit, %d do not, %v", fit, others, err)
	}
}

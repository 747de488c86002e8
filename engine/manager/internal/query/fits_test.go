package query

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The check for room gives the same as a look at each launcher.
func TestRoomIsWhatEachLauncherTells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := []string{"map", "reduce"}
		var launchers []*changes.Launcher
		for range rapid.IntRange(0, 6).Draw(t, "launchers") {
			l := &changes.Launcher{MemoryFree: rapid.Int64Range(0, 4).Draw(t, "memory"), ResourcesFree: gpus(rapid.IntRange(0, 3).Draw(t, "gpus"))}
			for _, kind := range kinds {
				l.Free = append(l.Free, scheduler.SlotCount{Kind: kind, Count: rapid.IntRange(0, 4).Draw(t, kind)})
			}
			launchers = append(launchers, l)
		}
		w := &changes.Waits{
			Needs:  []scheduler.SlotCount{{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Count: rapid.IntRange(1, 4).Draw(t, "slots")}},
			Memory: rapid.Int64Range(0, 4).Draw(t, "need"), Resources: gpus(max(rapid.IntRange(-2, 3).Draw(t, "need of gpus"), 0)),
		}
		want := slices.ContainsFunc(launchers, func(l *changes.Launcher) bool {
			return l.MemoryFree >= w.Memory && l.ResourcesFree.Of("gpu") >= w.Resources.Of("gpu") && slices.ContainsFunc(l.Free, func(s scheduler.SlotCount) bool { return s.Kind == w.Needs[0].Kind && s.Count >= w.Needs[0].Count })
		})
		if got := newRoom(launchers).fits(w); got != want {
			t.Fatalf("it fits: %t, want %t", got, want)
		}
	})
}

func gpus(n int) scheduler.Resources {
	return scheduler.NewResources(scheduler.ResourceCount{Kind: "gpu", Count: n})
}

// Waiting jobs are distinguished by whether a running launcher has room for them.
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

// A bundle of several groups fits where launchers together have room, each group on one of them.
func TestFittingOnSeveralLaunchers(t *testing.T) {
	free := func(memory int64, maps, reduces int) *changes.Launcher {
		return &changes.Launcher{MemoryFree: memory, Free: []scheduler.SlotCount{{Kind: "map", Count: maps}, {Kind: "reduce", Count: reduces}}}
	}
	r := newRoom([]*changes.Launcher{free(4, 2, 0), free(4, 1, 1)})
	for _, c := range []struct {
		name   string
		groups []changes.GroupNeed
		want   bool
	}{
		{"slots of two launchers", []changes.GroupNeed{{Kind: "map", Slots: 1, Count: 3}}, true},
		{"more than all have", []changes.GroupNeed{{Kind: "map", Slots: 1, Count: 4}}, false},
		{"two kinds", []changes.GroupNeed{{Kind: "map", Slots: 2, Count: 1}, {Kind: "reduce", Slots: 1, Count: 1}}, true},
		{"enough together, not on one", []changes.GroupNeed{{Kind: "map", Slots: 2, Count: 1}, {Kind: "map", Slots: 1, Memory: 5, Count: 1}}, false},
		{"a kind that nobody has", []changes.GroupNeed{{Kind: "gpu", Slots: 1, Count: 2}}, false},
		{"memory of two launchers", []changes.GroupNeed{{Kind: "map", Slots: 1, Memory: 4, Count: 2}}, true},
		{"too little memory", []changes.GroupNeed{{Kind: "map", Slots: 1, Memory: 3, Count: 3}}, false},
	} {
		if got := r.fits(&changes.Waits{Groups: c.groups}); got != c.want {
			t.Errorf("%s: it fits: %t, want %t", c.name, got, c.want)
		}
	}
	if r.steps = 0; r.fits(&changes.Waits{Groups: []changes.GroupNeed{{Kind: "map", Slots: 1, Count: 2}}}) {
		t.Error("there is no step left, and one was looked for")
	}
}

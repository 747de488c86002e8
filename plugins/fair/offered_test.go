package fair

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestATakenBundleIsNotOfferedTwice: with an accepted preemption the offer to launch its
// victim a second time ends, and with the offer the demand for it.
func TestATakenBundleIsNotOfferedTwice(t *testing.T) {
	p := New()
	now := scheduler.Time(time.Hour)
	env := scheduler.Environment{Kinds: []scheduler.SlotKind{scheduler.DefaultKind}, Heartbeat: time.Second, Limits: scheduler.Limits{GraceMax: time.Minute}}
	if _, err := p.Start(scheduler.Config{}, scheduler.Snapshot{Now: now}, env); err != nil {
		t.Fatal(err)
	}
	group := []scheduler.Group{{Kind: scheduler.DefaultKind, Slots: 1}}
	stages := []scheduler.Stage{{Name: "map", Groups: 1, Kind: scheduler.DefaultKind, Slots: 1}}
	number := uint64(0)
	demand := func(events ...scheduler.Event) (all int) {
		t.Helper()
		number++
		now = now.Add(time.Second)
		if _, err := p.AssignTasks(scheduler.Round{Number: number, Now: now, Events: events}); err != nil {
			t.Fatal(err)
		}
		s, err := p.Status()
		if err != nil {
			t.Fatal(err)
		}
		return s.Pools[0].Demand
	}
	launch := scheduler.Launch{Bundle: 1, Launchers: []scheduler.LauncherID{1}}
	taken := scheduler.Preempt{Victims: []scheduler.AttemptID{1}, Mode: scheduler.PreemptSoft, For: 2}
	demand(scheduler.LauncherJoined{Launcher: 1, Slots: []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 1}}, Memory: 1},
		scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Pool: "a", Stages: stages}}, scheduler.BundleReady{Job: 1, Bundle: 1, Groups: group})
	one := demand(scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Launch: launch, Attempts: []scheduler.AttemptID{1}},
		scheduler.AttemptStarted{Attempt: 1, Job: 1, Bundle: 1, Launcher: 1}, scheduler.JobSubmitted{Job: scheduler.Job{ID: 2, Pool: "a", Stages: stages}})
	two := demand(scheduler.SpeculationOffered{Job: 1, Bundle: 1, Groups: group, Avoid: []scheduler.LauncherID{1}})
	again := demand(scheduler.Outcome{Kind: scheduler.DecisionPreempt, Accepted: true, Preempt: taken})
	if two != one+1 || again != one {
		t.Errorf("the demand is %d, with the offer %d, and %d after it", one, two, again)
	}
}

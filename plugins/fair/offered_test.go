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

// TestNoVictimIsLaunchedTwice: a starved pool takes the newest attempt of another. It takes the one before where the same
// round launches a second attempt beside the newest, since a preemption ends that offer, and where the manager stops it.
func TestNoVictimIsLaunchedTwice(t *testing.T) {
	group := func(memory int64) []scheduler.Group {
		return []scheduler.Group{{Kind: scheduler.DefaultKind, Slots: 1, Memory: memory}}
	}
	slots := func(n int) []scheduler.SlotCount {
		return []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: n}}
	}
	stages := []scheduler.Stage{{Name: "map", Groups: 3, Kind: scheduler.DefaultKind, Slots: 1}}
	for name, c := range map[string]struct {
		last     scheduler.Event
		launches int
		victim   scheduler.AttemptID
	}{
		"nothing":              {scheduler.TimePassed{}, 0, 3},
		"it is offered":        {scheduler.SpeculationOffered{Job: 1, Bundle: 3, Groups: group(1), Avoid: []scheduler.LauncherID{1}}, 1, 2},
		"the manager stops it": {scheduler.AttemptStopping{Attempt: 3}, 0, 2},
	} {
		p := New()
		now, number := scheduler.Time(time.Hour), uint64(0)
		env := scheduler.Environment{Kinds: []scheduler.SlotKind{scheduler.DefaultKind}, Heartbeat: time.Second}
		config := scheduler.Config{Text: []byte("placement: {undeclared: create}\nallocations: {fair-share-timeout: 1s}\npreemption: {interval: 1s, fair-share-threshold: 1}\n")}
		if _, err := p.Start(config, scheduler.Snapshot{Now: now}, env); err != nil {
			t.Fatal(err)
		}
		round := func(offers []scheduler.Offer, events ...scheduler.Event) scheduler.Decisions {
			t.Helper()
			number, now = number+1, now.Add(10*time.Second)
			d, err := p.AssignTasks(scheduler.Round{Number: number, Now: now, Events: events, Offers: offers})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		first := []scheduler.Event{
			scheduler.LauncherJoined{Launcher: 1, Slots: slots(3), Memory: 10},
			scheduler.LauncherJoined{Launcher: 2, Slots: slots(1), Memory: 1},
			scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Pool: "a", Stages: stages}},
		}
		var started []scheduler.Event
		for id := range scheduler.BundleID(3) {
			first = append(first, scheduler.BundleReady{Job: 1, Bundle: id + 1, Groups: group(1)})
			a := scheduler.AttemptID(id + 1)
			launch := scheduler.Launch{Bundle: id + 1, Launchers: []scheduler.LauncherID{1}}
			started = append(started, scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Launch: launch, Attempts: []scheduler.AttemptID{a}},
				scheduler.AttemptStarted{Attempt: a, Job: 1, Bundle: id + 1, Launcher: 1})
		}
		round([]scheduler.Offer{{Launcher: 1, Free: slots(3), Memory: 10}}, first...)
		round([]scheduler.Offer{{Launcher: 1, Memory: 7}, {Launcher: 2, Free: slots(1), Memory: 1}}, append(started,
			scheduler.JobSubmitted{Job: scheduler.Job{ID: 2, Pool: "b", Stages: stages}},
			scheduler.BundleReady{Job: 2, Bundle: 4, Groups: group(8)}, scheduler.BundleReady{Job: 2, Bundle: 5, Groups: group(8)})...)
		d := round(nil, c.last)
		if len(d.Launch) != c.launches || len(d.Preempt) != 1 || d.Preempt[0].Victims[0] != c.victim {
			t.Errorf("%s: launches %v, preempts %v", name, d.Launch, d.Preempt)
		}
	}
}

package view

import (
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestStopping: what the manager stops can't be resumed, and is not about to be suspended any more. A preemption that
// kills stops its victims, too, and one that suspends does not. The rest of a launch that failed in part is being stopped,
// and what runs beside a finished attempt, also where an earlier manager does not say so.
func TestStopping(t *testing.T) {
	slots := []scheduler.SlotCount{{Kind: "map", Count: 9}}
	group := scheduler.Group{Kind: "map", Slots: 1}
	preempt := func(mode scheduler.PreemptMode) scheduler.Event {
		return scheduler.Outcome{Kind: scheduler.DecisionPreempt, Accepted: true, Preempt: scheduler.Preempt{Victims: []scheduler.AttemptID{1}, Mode: mode, For: 7}}
	}
	for name, c := range map[string]struct {
		events  []scheduler.Event
		want    bool
		leaving scheduler.JobID
	}{
		"nothing":          {nil, false, 0},
		"told":             {[]scheduler.Event{scheduler.AttemptStopping{Attempt: 1}}, true, 0},
		"told, for a job":  {[]scheduler.Event{scheduler.AttemptStopping{Attempt: 1, For: 7}}, true, 7},
		"killed":           {[]scheduler.Event{preempt(scheduler.PreemptKill)}, true, 7},
		"to be suspended":  {[]scheduler.Event{preempt(scheduler.PreemptSuspend)}, false, 7},
		"another failed":   {[]scheduler.Event{scheduler.AttemptEnded{Attempt: 2, Outcome: scheduler.Failed}}, true, 0},
		"another finished": {[]scheduler.Event{scheduler.AttemptEnded{Attempt: 2, Outcome: scheduler.Finished}}, false, 0},
		"a second launch finished": {[]scheduler.Event{
			scheduler.SpeculationOffered{Job: 1, Bundle: 1, Groups: []scheduler.Group{group, group}},
			scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{3, 4}, Launch: scheduler.Launch{Bundle: 1, Launchers: []scheduler.LauncherID{1, 1}}},
			scheduler.AttemptEnded{Attempt: 3, Outcome: scheduler.Finished},
			scheduler.AttemptEnded{Attempt: 4, Outcome: scheduler.Finished},
		}, true, 0},
	} {
		v := &View{}
		before := []scheduler.Event{
			scheduler.LauncherJoined{Launcher: 1, Slots: slots, Memory: 9},
			scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 2, Kind: "map", Slots: 1}}}},
			scheduler.BundleReady{Job: 1, Bundle: 1, Groups: []scheduler.Group{group, group}},
			scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{1, 2}, Launch: scheduler.Launch{Bundle: 1, Launchers: []scheduler.LauncherID{1, 1}}},
			scheduler.AttemptStarted{Attempt: 1, Job: 1, Bundle: 1, Launcher: 1},
			scheduler.AttemptStarted{Attempt: 2, Job: 1, Bundle: 1, Group: 1, Launcher: 1},
		}
		apply(t, v, scheduler.Round{Number: 1, Events: append(before, c.events...), Offers: []scheduler.Offer{{Launcher: 1, Free: slots, Memory: 9}}})
		if a := v.Attempt(1); a.Stopping != c.want || a.Leaving != c.leaving {
			t.Errorf("%s: it is stopping: %t, for %v", name, a.Stopping, a.Leaving)
		}
	}
}

// TestNoResumptionOfWhatStops: a suspended attempt whose job is killed waits for its end, and for nothing else.
func TestNoResumptionOfWhatStops(t *testing.T) {
	v := &View{}
	slots := []scheduler.SlotCount{{Kind: "map", Count: 2}}
	apply(t, v, scheduler.Round{Number: 1, Events: []scheduler.Event{
		scheduler.LauncherJoined{Launcher: 1, Slots: slots, Memory: 9},
		scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 1, Kind: "map", Slots: 1}}}},
		scheduler.BundleReady{Job: 1, Bundle: 1, Groups: []scheduler.Group{{Kind: "map", Slots: 1}}},
		scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{1}, Launch: scheduler.Launch{Bundle: 1, Launchers: []scheduler.LauncherID{1}}},
		scheduler.AttemptStarted{Attempt: 1, Job: 1, Bundle: 1, Launcher: 1},
		scheduler.AttemptSuspended{Attempt: 1},
	}, Offers: []scheduler.Offer{{Launcher: 1, Free: slots, Memory: 9, Suspended: 1}}})
	mark := v.Capacity.Mark()
	if !v.Capacity.TakeForResume(v.Attempt(1)) {
		t.Fatal("it can't be resumed")
	}
	v.Capacity.Undo(mark)
	apply(t, v, scheduler.Round{Number: 2, Events: []scheduler.Event{scheduler.AttemptStopping{Attempt: 1}}})
	if v.Capacity.TakeForResume(v.Attempt(1)) {
		t.Error("it can be resumed while it is being stopped")
	}
	if err := v.Apply(scheduler.Round{Number: 3, Events: []scheduler.Event{scheduler.AttemptStopping{Attempt: 9}}}); err == nil {
		t.Error("an attempt that is not there is being stopped")
	}
}

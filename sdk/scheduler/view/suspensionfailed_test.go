package view

import (
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestSuspensionFailed: a victim that its launcher can't suspend runs on, as if it had not been preempted.
func TestSuspensionFailed(t *testing.T) {
	v := &View{}
	slots := []scheduler.SlotCount{{Kind: "map", Count: 2}}
	victim := scheduler.Preempt{Victims: []scheduler.AttemptID{1}, Mode: scheduler.PreemptSuspend, For: 7}
	apply(t, v, scheduler.Round{Number: 1, Events: []scheduler.Event{
		scheduler.LauncherJoined{Launcher: 1, Slots: slots, Memory: 9},
		scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 1, Kind: "map", Slots: 1}}}},
		scheduler.BundleReady{Job: 1, Bundle: 1, Groups: []scheduler.Group{{Kind: "map", Slots: 1}}},
		scheduler.Outcome{Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{1}, Launch: scheduler.Launch{Bundle: 1, Launchers: []scheduler.LauncherID{1}}},
		scheduler.AttemptStarted{Attempt: 1, Job: 1, Bundle: 1, Launcher: 1},
		scheduler.Outcome{Kind: scheduler.DecisionPreempt, Accepted: true, Preempt: victim},
	}, Offers: []scheduler.Offer{{Launcher: 1, Free: slots[:0:0], Memory: 8}}})
	a := v.Attempt(1)
	if a.Leaving != 7 || !a.isSuspending() {
		t.Fatalf("it leaves for %v", a.Leaving)
	}
	apply(t, v, scheduler.Round{Number: 2, Events: []scheduler.Event{scheduler.SuspensionFailed{Attempt: 1}}})
	if a.Leaving != 0 || a.isSuspending() || a.State != Running || a.Stopping {
		t.Errorf("it is %v, leaves for %v, is stopping: %t", a.State, a.Leaving, a.Stopping)
	}
	for _, id := range []scheduler.AttemptID{1, 9} {
		if id == 1 {
			apply(t, v, scheduler.Round{Number: 3, Events: []scheduler.Event{scheduler.AttemptSuspended{Attempt: 1}}})
		}
		if err := v.Apply(scheduler.Round{Number: 4, Events: []scheduler.Event{scheduler.SuspensionFailed{Attempt: id}}}); err == nil {
			t.Errorf("the suspension of attempt %d, which is suspended or not there, failed", id)
		}
	}
}

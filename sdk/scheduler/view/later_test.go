package view

import (
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A manager of a later version may send phases and outcomes that this version does not know.
// They are 0, and the world goes on.
func TestValuesOfALaterVersion(t *testing.T) {
	var v View
	err := v.Apply(scheduler.Round{Number: 1, Now: 60, Events: []scheduler.Event{
		scheduler.LauncherJoined{At: 10, Launcher: 1, Slots: []scheduler.SlotCount{{Kind: "map", Count: 1}}},
		scheduler.JobSubmitted{At: 10, Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 1, Kind: "map", Slots: 1}}}},
		scheduler.BundleReady{At: 10, Job: 1, Bundle: 1, Groups: []scheduler.Group{{Kind: "map", Slots: 1}}},
		scheduler.Outcome{At: 20, Kind: scheduler.DecisionLaunch, Accepted: true, Attempts: []scheduler.AttemptID{1}, Launch: scheduler.Launch{Bundle: 1, Launchers: []scheduler.LauncherID{1}}},
		scheduler.AttemptStarted{At: 30, Attempt: 1, Job: 1, Bundle: 1, Launcher: 1},
		scheduler.AttemptPhase{At: 40, Attempt: 1},
		scheduler.Outcome{At: 50, Kind: scheduler.DecisionPreempt, Preempt: scheduler.Preempt{Victims: []scheduler.AttemptID{1}, For: 1}},
		scheduler.Outcome{At: 50},
	}})
	if err != nil {
		t.Fatal(err)
	}
	a := v.Attempt(1)
	if a.Phase != scheduler.PhaseExecute || a.PhaseSince != 30 || a.Leaving != 0 {
		t.Errorf("in phase %s since %d, leaving for job %d", a.Phase, a.PhaseSince, a.Leaving)
	}
	err = v.Apply(scheduler.Round{Number: 2, Now: 70, Events: []scheduler.Event{scheduler.AttemptEnded{At: 70, Attempt: 1}}})
	if err != nil || v.Attempt(1) != nil || v.Bundle(1).State != Waiting {
		t.Errorf("after its end the attempt is %v, its bundle %s, error %v", v.Attempt(1), v.Bundle(1).State, err)
	}
	if err := v.Apply(scheduler.Round{Number: 3, Now: 80, Events: []scheduler.Event{scheduler.JobFinished{At: 80, Job: 1}}}); err != nil || v.Job(1) != nil {
		t.Errorf("after its end the job is %v, error %v", v.Job(1), err)
	}
}

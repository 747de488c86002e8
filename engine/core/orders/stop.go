package orders

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/core/course"
	"github.com/hamadryad/hamadryad/engine/core/life"
	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// StopRun stops all of a bundle attempt, for one reason.
func (od *Orders) StopRun(r *life.Run, outcome scheduler.AttemptOutcome, reason string, grace time.Duration, forJob scheduler.JobID) {
	r.Stop(outcome)
	for _, a := range r.Attempts {
		if a.Phase() != course.Ended {
			od.stopAttempt(a, course.Stop{Outcome: outcome, Reason: reason, Grace: grace, ForJob: forJob, At: od.step.Now})
		}
	}
}

// stopAttempt sends the command to stop, unless it went out already and this one
// is not harder.
func (od *Orders) stopAttempt(a *life.Attempt, s course.Stop) {
	if a.AskStop(s) {
		od.life.TouchAttempt(a)
		a.Reads.Stop()
		od.SendStop(a)
	}
}

// StopForEnd stops an attempt of a bundle because its job ends.
func (od *Orders) StopForEnd(r *life.Run) {
	od.step.Charge(step.WorkStop * len(r.Attempts))
	od.StopRun(r, scheduler.Killed, "its job "+r.Bundle.Job.Outcome.String(), 0, 0)
}

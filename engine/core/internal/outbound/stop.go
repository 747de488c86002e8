package outbound

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// StopBundleAttempt stops all attempts of a bundle attempt, for one reason. A second attempt beside it is offered no
// more.
func (dp *Dispatcher) StopBundleAttempt(r *state.BundleAttempt, outcome scheduler.AttemptOutcome, reason string, grace time.Duration, forJob scheduler.JobID) {
	r.Stop(outcome)
	dp.events.WithdrawSpeculation(r.Bundle)
	for _, a := range r.Attempts {
		if a.Phase() != phase.Ended {
			dp.stopAttempt(a, phase.Stop{Outcome: outcome, Reason: reason, Grace: grace, ForJob: forJob, At: dp.step.Now})
		}
	}
}

// stopAttempt sends the command to stop, unless an equal or harder one was sent already.
func (dp *Dispatcher) stopAttempt(a *state.Attempt, s phase.Stop) {
	if a.AskStop(s) {
		dp.state.Changes.MarkAttempt(a)
		a.Reads.Stop()
		dp.SendStop(a)
	}
}

// StopForEnd stops an attempt of a bundle because its job ends.
func (dp *Dispatcher) StopForEnd(r *state.BundleAttempt) {
	dp.step.AddCost(step.WorkStop * len(r.Attempts))
	dp.StopBundleAttempt(r, scheduler.Killed, "its job "+r.Bundle.Job.End.Outcome().String(), 0, 0)
}

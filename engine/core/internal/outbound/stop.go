package outbound

import (
	"fmt"
	"iter"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// StopBundleAttempt stops all attempts of a bundle attempt, for one reason, and notifies the policy. A second attempt
// beside it is offered no more. What the attempts free is for forJob, if not 0.
func (dp *Dispatcher) StopBundleAttempt(r *state.BundleAttempt, outcome scheduler.AttemptOutcome, reason string, forJob scheduler.JobID) {
	for a := range dp.stops(r, outcome) {
		s := phase.Stop{Outcome: outcome, Reason: reason, ForJob: forJob, At: dp.step.Now}
		if _, beneficiary := r.SuspendRequested(); a.Suspending() {
			s.ForJob = beneficiary
		}
		if a.Stop() == nil {
			dp.events.Notify(r.Bundle, scheduler.AttemptStopping{At: s.At, Attempt: a.ID, For: s.ForJob})
		}
		dp.stopAttempt(a, s)
	}
}

// PreemptBundleAttempt is StopBundleAttempt for a job, because the policy decided so. The outcome of the decision
// notifies the policy.
func (dp *Dispatcher) PreemptBundleAttempt(r *state.BundleAttempt, grace time.Duration, forJob scheduler.JobID) {
	reason := fmt.Sprintf("preempted for %s", forJob)
	for a := range dp.stops(r, scheduler.Preempted) {
		dp.stopAttempt(a, phase.Stop{Outcome: scheduler.Preempted, Reason: reason, Grace: grace, ForJob: forJob, At: dp.step.Now})
	}
}

// stops records that a bundle attempt is stopped, and walks its live attempts.
func (dp *Dispatcher) stops(r *state.BundleAttempt, outcome scheduler.AttemptOutcome) iter.Seq[*state.Attempt] {
	r.Stop(outcome)
	dp.events.WithdrawSpeculation(r.Bundle)
	return func(yield func(*state.Attempt) bool) {
		for _, a := range r.Attempts {
			if a.Phase() != phase.Ended && !yield(a) {
				return
			}
		}
	}
}

// stopAttempt sends the command to stop, unless an equal or harder one was sent already.
func (dp *Dispatcher) stopAttempt(a *state.Attempt, s phase.Stop) {
	if a.AskStop(s) {
		dp.state.Changes.MarkAttempt(a)
		dp.offers.MarkAhead(&a.Launcher.Launcher) // it hands its slots over no more
		a.Reads.Stop()
		dp.SendStop(a)
	}
}

// WithdrawAhead withdraws all attempts that are held ahead on a launcher.
func (dp *Dispatcher) WithdrawAhead(l *state.Launcher, why string) {
	if !l.HasHeldAhead() {
		return
	}
	for _, a := range l.Attempts().Sorted() {
		if a.HeldAhead() {
			dp.WithdrawAttempt(a, why)
		}
	}
}

// WithdrawAttempt stops an attempt that is held ahead. It ends when the launcher has confirmed that
// it was not started, or has stopped it.
func (dp *Dispatcher) WithdrawAttempt(a *state.Attempt, why string) {
	if a.Stop() == nil {
		dp.step.Stats.AheadWithdrawn++
		dp.StopBundleAttempt(a.BundleAttempt, scheduler.Preempted, "held ahead and withdrawn: "+why, 0)
	}
}

// StopForEnd stops an attempt of a bundle because its job ends.
func (dp *Dispatcher) StopForEnd(r *state.BundleAttempt) {
	dp.step.AddCost(step.WorkStop * len(r.Attempts))
	dp.StopBundleAttempt(r, scheduler.Killed, "its job "+r.Bundle.Job.End.Outcome().String(), 0)
}

package core

import (
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// stopRun stops all of a bundle attempt, for one reason.
func (c *Core) stopRun(r *run, outcome scheduler.AttemptOutcome, reason string, grace time.Duration, forJob scheduler.JobID) {
	if r.stopped == 0 || outcome == scheduler.Killed {
		r.stopped = outcome
	}
	for _, a := range r.attempts {
		if a.phase != attemptEnded {
			c.stopAttempt(a, &stop{outcome: outcome, reason: reason, grace: grace, forJob: forJob, at: c.step.Now})
		}
	}
}

// stopAttempt sends the command to stop, unless it went out already and this one
// is not harder.
func (c *Core) stopAttempt(a *attempt, s *stop) {
	if a.stop != nil {
		if a.stop.grace == 0 || s.grace > 0 {
			return
		}
		a.stop.grace = 0
	} else {
		a.stop = s
	}
	a.suspending, a.resuming = false, false
	a.reads.Stop()
	c.sendStop(a)
}

// stopForEnd stops an attempt of a bundle because its job ends.
func (c *Core) stopForEnd(r *run) {
	c.step.Charge(workStop * len(r.attempts))
	c.stopRun(r, scheduler.Killed, "its job "+r.bundle.job.outcome.String(), 0, 0)
}

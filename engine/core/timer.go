package core

import (
	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// expire does what is due.
func (c *Core) expire() {
	for c.step.Due() && c.step.Spend(step.WorkTimer) {
		kind, id := c.step.Take()
		switch kind {
		case step.TimerCommand:
			c.sessions.Resend(scheduler.LauncherID(id))
		case step.TimerReservation:
			c.preemption.ReservationExpired(id)
		case step.TimerSpeculate:
			c.attempts.Speculate()
		case step.TimerAdmission:
			c.admission.AdmissionExpired(scheduler.JobID(id))
		case step.TimerRequest:
			c.policy.Requests.Expire(&c.step, id)
		case step.TimerSettings:
			c.policy.Changes.Expire(&c.step, id)
		case step.TimerTakeBack:
			c.preemption.TakeBack(scheduler.JobID(id))
		case step.TimerSuspend:
			c.attempts.SuspendedTooLong(id)
		case step.TimerUnplaceable:
			c.admission.UnplaceableTooLong(scheduler.JobID(id))
		case step.TimerBlame:
			c.capacity.Forgive(scheduler.LauncherID(id))
		case step.TimerPublish:
			c.jobs.PublishAgain(scheduler.JobID(id))
		case step.TimerClean:
			c.jobs.CleanTooLong(scheduler.JobID(id))
		case step.TimerPrepared:
			c.admission.ExpirePrepared()
		case step.TimerStall:
			c.decisions.StallDue(id)
		case step.TimerFeed:
			if a := c.life.Attempts.Get(scheduler.AttemptID(id)); a != nil {
				c.orders.Feed(a)
			}
		}
	}
}

// overdue says whether a step left timers to the next that were due in it. NextWake is
// then at once.
func (c *Core) Overdue() bool { return c.step.Due() }

// NextWake returns when Step is to be called with a tick if nothing happens
// before, which is at once when a step left work, and false when time alone changes nothing.
func (c *Core) NextWake() (scheduler.Time, bool) {
	if len(c.life.Busy) > 0 && !c.waitsForRound() || c.policy.Deciding() != nil || c.policy.Gathering() != nil {
		return c.step.Now, true
	}
	var at scheduler.Time
	found := false
	earlier := func(t scheduler.Time) {
		if !found || t < at {
			at, found = t, true
		}
	}
	if first, ok := c.step.NextTimer(); ok {
		earlier(first)
	}
	if round, ok := c.policy.Wake(c.step.Set.RoundGap, c.step.Set.RefusedGapMax, c.capacity.AnyChanged()); ok {
		earlier(round)
	}
	return at, found
}

package core

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// expire does what is due.
func (c *Core) expire() {
	for c.rooms.Step.TimerDue() && c.rooms.Step.ConsumeBudget(step.WorkTimer) {
		kind, id := c.rooms.Step.TakeTimer()
		switch kind {
		case step.TimerCommand:
			c.rooms.Membership.Resend(scheduler.LauncherID(id))
		case step.TimerReservation:
			c.rooms.Preemption.ReservationExpired(id)
		case step.TimerSpeculate:
			c.rooms.Attempts.Speculate()
		case step.TimerAdmission:
			c.rooms.Admission.AdmissionExpired(scheduler.JobID(id))
		case step.TimerRequest:
			c.rooms.Policy.Requests.Expire(&c.rooms.Step, id)
		case step.TimerSettings:
			c.rooms.Policy.Changes.Expire(&c.rooms.Step, id)
		case step.TimerReclaim:
			c.rooms.Preemption.ReclaimEarlyReaders(scheduler.JobID(id))
		case step.TimerSuspend:
			c.rooms.Attempts.SuspendedTooLong(id)
		case step.TimerUnplaceable:
			c.rooms.Admission.UnplaceableTooLong(scheduler.JobID(id))
		case step.TimerReadmit:
			if l := scheduler.LauncherID(id); c.rooms.Resources.ReadmitDue(l, c.rooms.Step.Now) {
				c.rooms.Events.NotifyExclusion(c.rooms.Cluster.Launchers.Get(l))
			}
		case step.TimerPublish:
			c.rooms.Jobs.RetryPublish(scheduler.JobID(id))
		case step.TimerStoreRoom:
			c.rooms.Jobs.RetryStoreRoom(scheduler.JobID(id))
		case step.TimerClean:
			c.rooms.Jobs.CleanTooLong(scheduler.JobID(id))
		case step.TimerReservedIDs:
			c.rooms.Admission.ExpireReservedIDs()
		case step.TimerStall:
			c.rooms.Rounds.StallDue(id)
		case step.TimerFeed:
			if a := c.rooms.Cluster.Attempts.Get(scheduler.AttemptID(id)); a != nil {
				c.rooms.Dispatch.Feed(a)
			}
		}
	}
}

// overdue says whether a step left timers to the next that were due in it. NextWake is
// then at once.
func (c *Core) Overdue() bool { return c.rooms.Step.TimerDue() }

// NextWake returns when Step is to be called with a tick if nothing happens
// before, which is at once when a step left work, and false when time alone changes nothing.
func (c *Core) NextWake() (scheduler.Time, bool) {
	if len(c.rooms.Cluster.PendingWork) > 0 && !c.waitsForRound() || c.rooms.Policy.PendingAnswer() != nil || c.rooms.Policy.Building() != nil {
		return c.rooms.Step.Now, true
	}
	var at scheduler.Time
	found := false
	earlier := func(t scheduler.Time) {
		if !found || t < at {
			at, found = t, true
		}
	}
	if first, ok := c.rooms.Step.NextTimer(); ok {
		earlier(first)
	}
	if round, ok := c.rooms.Policy.Wake(c.rooms.Step.Set.RoundGap, c.rooms.Step.Set.RefusedGapMax, c.rooms.Resources.AnyOfferChanged()); ok {
		earlier(round)
	}
	return at, found
}

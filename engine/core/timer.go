package core

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/rounds"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// expire handles the due timers.
func (c *Core) expire() {
	for c.state.Step.TimerDue() && c.state.Step.ConsumeBudget(step.WorkTimer) {
		kind, id := c.state.Step.TakeTimer()
		switch kind {
		case step.TimerCommand:
			c.membership.Resend(scheduler.LauncherID(id))
		case step.TimerReservation:
			c.rounds.Preemption.ReservationExpired(id)
		case step.TimerSpeculate:
			c.lifecycle.Speculation.Speculate()
		case step.TimerAdmission:
			c.lifecycle.Admission.AdmissionExpired(scheduler.JobID(id))
		case step.TimerRequest:
			c.state.Policy.Requests.Expire(&c.state.Step, id)
		case step.TimerSettings:
			c.state.Policy.Changes.Expire(&c.state.Step, id)
		case step.TimerReclaim:
			c.rounds.Preemption.ReclaimEarlyReaders(scheduler.JobID(id))
		case step.TimerSuspend:
			c.lifecycle.Attempts.SuspendedTooLong(id)
		case step.TimerUnplaceable:
			c.lifecycle.Admission.UnplaceableTooLong(scheduler.JobID(id))
		case step.TimerReadmit:
			if l := scheduler.LauncherID(id); c.state.Resources.Exclusions.ReadmitDue(l, c.state.Step.Now) {
				c.outbound.Events.NotifyExclusion(c.state.Cluster.Launchers.Get(l))
			}
		case step.TimerPublish:
			c.lifecycle.Jobs.RetryPublish(scheduler.JobID(id))
		case step.TimerStoreRoom:
			c.lifecycle.Jobs.RetryStoreRoom(scheduler.JobID(id))
		case step.TimerTimeLimit:
			c.lifecycle.Jobs.TimeLimitDue(scheduler.JobID(id))
		case step.TimerDeadline:
			c.lifecycle.Admission.DeadlineDue(scheduler.JobID(id))
		case step.TimerAhead:
			c.lifecycle.Attempts.HeldTooLong(scheduler.LauncherID(id))
		case step.TimerSchedule:
			c.state.Schedules.Expire(&c.state.Step, id)
		case step.TimerClean:
			c.lifecycle.Jobs.CleanTooLong(scheduler.JobID(id))
		case step.TimerReservedIDs:
			c.lifecycle.Admission.ExpireReservedIDs()
		case step.TimerStall:
			c.rounds.StallDue()
		case step.TimerFeed:
			if a := c.state.Cluster.Attempts.Get(scheduler.AttemptID(id)); a != nil {
				c.outbound.Dispatch.Feed(a)
			}
		}
	}
}

// Overdue says whether a step left due timers to the next step. NextWake then returns now.
func (c *Core) Overdue() bool { return c.state.Step.TimerDue() }

// NextWake returns when to call Step with a tick if nothing happens before. That is now if a
// step left work; false if time alone changes nothing.
func (c *Core) NextWake() (scheduler.Time, bool) {
	if len(c.state.Cluster.PendingWork()) > 0 && !c.waitsForRound() || c.state.Policy.PendingAnswer() != nil || c.state.Policy.Building() != nil {
		return c.state.Step.Now, true
	}
	var at scheduler.Time
	found := false
	earlier := func(t scheduler.Time) {
		if !found || t < at {
			at, found = t, true
		}
	}
	if first, ok := c.state.Step.NextTimer(); ok {
		earlier(first)
	}
	if round, ok := c.state.Policy.Wake(rounds.Gaps(&c.state.Step.Set), c.state.Resources.Offers.AnyChanged()); ok {
		earlier(round)
	}
	return at, found
}

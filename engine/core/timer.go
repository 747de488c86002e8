package core

import (
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// timerKind says what a timer is about.
type timerKind uint8

const (
	timerCommand timerKind = iota + 1 // a launcher's unconfirmed commands
	timerReservation
	timerSpeculate
	timerAdmission
	timerRequest
	timerSettings
	timerTakeBack
	timerSuspend
	timerUnplaceable
	timerBlame
	timerPublish
	timerClean
	timerPrepared
	timerStall
	timerFeed
)

func (c *Core) after(d time.Duration, kind timerKind, id uint64) {
	c.timers.Set(c.now.Add(d), uint8(kind), id)
}

// expire does what is due.
func (c *Core) expire() {
	for c.timers.Due(c.now) && c.spend(workTimer) {
		t := c.timers.Take()
		switch timerKind(t.Kind) {
		case timerCommand:
			c.resend(scheduler.LauncherID(t.ID))
		case timerReservation:
			c.reservationExpired(t.ID)
		case timerSpeculate:
			c.speculate()
		case timerAdmission:
			c.admissionExpired(scheduler.JobID(t.ID))
		case timerRequest:
			c.requestExpired(t.ID)
		case timerSettings:
			c.settingsExpired(t.ID)
		case timerTakeBack:
			c.takeBack(scheduler.JobID(t.ID))
		case timerSuspend:
			c.suspendedTooLong(t.ID)
		case timerUnplaceable:
			c.unplaceableTooLong(scheduler.JobID(t.ID))
		case timerBlame:
			c.capacity.Forgive(scheduler.LauncherID(t.ID))
		case timerPublish:
			c.publishAgain(scheduler.JobID(t.ID))
		case timerClean:
			c.cleanTooLong(scheduler.JobID(t.ID))
		case timerPrepared:
			c.expirePrepared()
		case timerStall:
			c.stallDue(t.ID)
		case timerFeed:
			if a := c.attempts.Get(scheduler.AttemptID(t.ID)); a != nil {
				c.feed(a)
			}
		}
	}
}

// overdue says whether a step left timers to the next that were due in it. NextWake is
// then at once.
func (c *Core) overdue() bool { return c.timers.Due(c.now) }

// NextWake returns when Step is to be called with a tick if nothing happens
// before, which is at once when a step left work, and false when time alone changes nothing.
func (c *Core) NextWake() (scheduler.Time, bool) {
	if len(c.busy) > 0 && !c.waitsForRound() || c.policy.Deciding() != nil || c.policy.Gathering() != nil {
		return c.now, true
	}
	var at scheduler.Time
	found := false
	earlier := func(t scheduler.Time) {
		if !found || t < at {
			at, found = t, true
		}
	}
	if first, ok := c.timers.Next(); ok {
		earlier(first)
	}
	if round, ok := c.policy.Wake(c.set.RoundGap, c.set.RefusedGapMax, c.capacity.AnyChanged()); ok {
		earlier(round)
	}
	return at, found
}

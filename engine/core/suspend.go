package core

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// suspendRun asks for all of a bundle attempt to be stopped and kept.
func (c *Core) suspendRun(r *run) {
	for _, a := range r.attempts {
		if a.phase == attemptRunning && !a.suspending {
			a.suspending, a.resuming = true, false
			c.sendSuspend(a)
		}
	}
}

// suspendedNow frees an attempt's slots. Its memory it keeps.
func (c *Core) suspendedNow(a *attempt) {
	c.sureStarted(a)
	if a.phase != attemptRunning || !a.suspending {
		return
	}
	a.ran, a.since = a.running(c.step.Now), c.step.Now
	a.phase, a.suspending = attemptSuspended, false
	a.rest(+1)
	if a.stop == nil {
		a.pending.Confirmed()
	}
	c.capacity.GiveSlots(&a.launcher.Launcher, &a.Holding)
	c.capacity.VictimDone(&a.Holding)
	c.capacity.Changed(&a.launcher.Launcher)
	c.emit(a.run.bundle, scheduler.AttemptSuspended{At: c.step.Now, Attempt: a.id})
	c.touch(a.run.bundle.job)
	c.noteSuspended(a.run)
}

// noteSuspended lists a run as suspended when as much of it is as will be: some
// of a gang may have come to their end first, or can't be suspended.
func (c *Core) noteSuspended(r *run) {
	if r.suspended == 0 && r.rests() {
		r.suspended = c.step.Now
		c.listSuspended(r)
		c.step.After(c.step.Set.SuspendMax, step.TimerSuspend, r.id)
	}
}

func (c *Core) listSuspended(r *run) {
	c.suspension++
	r.suspension = c.suspension
	c.suspended.Add(r.suspension, r)
}

// rests says whether a run waits to be resumed.
func (r *run) rests() bool {
	rests := false
	for _, a := range r.attempts {
		if a.phase == attemptEnded {
			continue // it may have come to its end while it was to be suspended
		}
		if a.suspending || a.stop != nil {
			return false
		}
		rests = rests || a.phase == attemptSuspended && !a.resuming
	}
	return rests
}

// resume lets a suspended attempt run again, with the rest of its bundle.
func (c *Core) resume(d scheduler.Resume) (scheduler.RefusalReason, string) {
	a := c.attempts.Get(d.Attempt)
	switch {
	case a == nil:
		return scheduler.UnknownID, fmt.Sprintf("attempt %d is not there", d.Attempt)
	case a.phase != attemptSuspended || a.resuming || a.stop != nil || a.run.stopped != 0:
		return scheduler.NotSuspended, fmt.Sprintf("attempt %d is not suspended", d.Attempt)
	}
	if why := c.resumeRun(a.run); why != "" {
		return scheduler.NoCapacity, why
	}
	return scheduler.NotRefused, ""
}

// resumeRun takes the slots of a run's suspended attempts and resumes them, or
// says why it can't and takes none.
func (c *Core) resumeRun(r *run) string {
	var back []*attempt
	var held []capacity.Held
	for _, a := range r.attempts {
		if a.phase == attemptSuspended && !a.resuming {
			back = append(back, a)
			held = append(held, capacity.Held{On: &a.launcher.Launcher, Holding: &a.Holding})
		}
	}
	if lacks := c.capacity.TakeAgain(held); lacks >= 0 {
		a := back[lacks]
		return fmt.Sprintf("attempt %d needs %d %s slots, and launcher %d (%s) has %d free",
			a.id, a.Slots, a.Kind, a.launcher.ID, a.launcher.Name, a.launcher.Free().Of(a.Kind))
	}
	for _, a := range back {
		a.resuming = true
		c.sendResume(a)
	}
	c.dropSuspended(r)
	c.protect(r.bundle)
	return ""
}

func (c *Core) resumedNow(a *attempt) {
	if a.phase != attemptSuspended || !a.resuming {
		return
	}
	a.phase, a.resuming, a.since = attemptRunning, false, c.step.Now
	a.rest(-1)
	if a.stop == nil {
		a.pending.Confirmed()
	}
	c.capacity.Changed(&a.launcher.Launcher)
	c.emit(a.run.bundle, scheduler.AttemptResumed{At: c.step.Now, Attempt: a.id})
	c.touch(a.run.bundle.job)
}

// dropSuspended takes a run off the list of those that wait to be resumed.
func (c *Core) dropSuspended(r *run) {
	if r.suspended == 0 {
		return
	}
	r.suspended = 0
	c.suspended.Remove(r.suspension)
}

// resumeSuspended is the manager's own resuming, for a policy that does not:
// whole bundles, the first suspended first, as their slots get free.
func (c *Core) resumeSuspended() {
	if c.policy.Resumes() {
		return
	}
	for r := range c.suspended.All() {
		if r.stopped == 0 {
			c.resumeRun(r)
		}
	}
}

// suspendedTooLong kills what could not be resumed, to be queued again.
func (c *Core) suspendedTooLong(id uint64) {
	if c.policy.Resumes() {
		return
	}
	for r := range c.suspended.All() {
		if r.id == id && c.step.Now.Sub(r.suspended) >= c.step.Set.SuspendMax {
			c.stopRun(r, scheduler.Preempted, fmt.Sprintf("it was suspended for %v", c.step.Set.SuspendMax), 0, 0)
			c.dropSuspended(r)
		}
	}
}

package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// preempt takes one set of victims off their slots for a beneficiary, or refuses
// the set whole.
func (c *Core) preempt(d scheduler.Preempt) (scheduler.RefusalReason, string) {
	runs, reason, why := c.victims(d)
	if reason != scheduler.NotRefused {
		return reason, why
	}
	j := c.jobs.Get(d.For)
	if j == nil || j.phase == jobAsked {
		return scheduler.UnknownID, fmt.Sprintf("%s is not there", d.For)
	}
	if reason, why := c.wouldFit(d, j, runs); reason != scheduler.NotRefused {
		return reason, why
	}
	grace := time.Duration(0)
	if d.Mode == scheduler.PreemptSoft {
		grace = min(max(d.Grace, 0), c.step.Set.PolicyLimits.GraceMax)
	}
	k := c.reserve(j.id, d.Bundle, grace)
	for _, r := range runs {
		c.preemptRun(r, k, d.Mode == scheduler.PreemptSuspend, grace)
	}
	c.capacity.ReleaseIfEmpty(k)
	return scheduler.NotRefused, ""
}

// reserve makes a reservation that lasts for reserveMax after the grace that its victims
// have.
func (c *Core) reserve(j scheduler.JobID, b scheduler.BundleID, grace time.Duration) *capacity.Reservation {
	c.ids.Reservation++
	lasts := grace + c.step.Set.ReserveMax
	c.step.After(lasts, step.TimerReservation, c.ids.Reservation)
	return c.capacity.Reserve(capacity.Reservation{ID: c.ids.Reservation, Job: j, Bundle: b, Expires: c.step.Now.Add(lasts)})
}

func (c *Core) reservationExpired(id uint64) {
	if c.capacity.Expire(id, c.step.Now) {
		c.step.Stats.ReservationsExpired++
	}
}

func (c *Core) preemptRun(r *run, k *capacity.Reservation, suspend bool, grace time.Duration) {
	b := r.bundle
	b.preempted = true
	b.setTwice(0)
	c.protect(b)
	c.step.Stats.Preempted++
	for _, a := range r.attempts {
		if a.phase != attemptEnded && (a.HasSlots || !suspend) {
			c.capacity.AddVictim(k, &a.Holding)
		}
	}
	if suspend {
		r.toSuspend, r.suspendFor = c.step.Now, k.Job
		c.suspendRun(r)
		return
	}
	c.stopRun(r, scheduler.Preempted, fmt.Sprintf("preempted for %s", k.Job), grace, k.Job)
}

// victims finds the bundle attempts of a preemption's victims: a victim means
// all of its bundle.
func (c *Core) victims(d scheduler.Preempt) ([]*run, scheduler.RefusalReason, string) {
	if len(d.Victims) == 0 {
		return nil, scheduler.WrongShape, "no victim was named"
	}
	if d.Mode < scheduler.PreemptKill || d.Mode > scheduler.PreemptSuspend {
		return nil, scheduler.Unsupported, fmt.Sprintf("mode %d is unknown", d.Mode)
	}
	var runs []*run
	for _, id := range d.Victims {
		a := c.attempts.Get(id)
		if a == nil {
			return nil, scheduler.UnknownID, fmt.Sprintf("attempt %d is not there", id)
		}
		if slices.Contains(runs, a.run) {
			continue
		}
		if reason, why := c.mayPreempt(a.run, d.Mode == scheduler.PreemptSuspend); reason != scheduler.NotRefused {
			return nil, reason, why
		}
		runs = append(runs, a.run)
	}
	return runs, scheduler.NotRefused, ""
}

func (c *Core) mayPreempt(r *run, suspend bool) (scheduler.RefusalReason, string) {
	if r.granted || c.step.Now < r.bundle.protected {
		return scheduler.Protected, fmt.Sprintf("bundle %d commits, or was preempted a short while ago", r.bundle.id)
	}
	for _, a := range r.attempts {
		switch {
		case a.phase == attemptEnded:
		case a.stop != nil || a.suspending || a.resuming || r.stopped != 0:
			return scheduler.NotRunning, fmt.Sprintf("attempt %d is being stopped, suspended or resumed", a.id)
		case suspend && a.phase != attemptRunning:
			return scheduler.NotRunning, fmt.Sprintf("attempt %d does not run", a.id)
		case suspend && !a.launcher.CanSuspend:
			return scheduler.Unsupported, fmt.Sprintf("launcher %d (%s) can't suspend", a.launcher.ID, a.launcher.Name)
		}
	}
	return scheduler.NotRefused, ""
}

// wouldFit checks that what is free, reserved for the job and freed fits the
// beneficiary: the bundle that was named, or one of the job's ready ones.
func (c *Core) wouldFit(d scheduler.Preempt, j *job, runs []*run) (scheduler.RefusalReason, string) {
	freed := freedBy(runs, d.Mode == scheduler.PreemptSuspend)
	if d.Bundle == 0 {
		tried := 0
		for b := range j.allReady() {
			if c.fits(b, nil, freed) {
				return scheduler.NotRefused, ""
			}
			if tried++; tried == bundlesTried {
				break
			}
		}
		return scheduler.NothingGained, fmt.Sprintf("no ready bundle of %s would fit", j.id)
	}
	b := c.bundles.Get(d.Bundle)
	if b == nil || b.job != j {
		return scheduler.UnknownID, fmt.Sprintf("%s has no bundle %d", j.id, d.Bundle)
	}
	if b.phase != bundleReady {
		return scheduler.NotReady, fmt.Sprintf("bundle %d is %s", b.id, b.phase)
	}
	if d.Placement != nil && len(d.Placement) != b.Width() {
		return scheduler.WrongShape, fmt.Sprintf("bundle %d has %d groups and %d launchers were named", b.id, b.Width(), len(d.Placement))
	}
	var where []*capacity.Launcher
	for _, id := range d.Placement {
		l := c.launchers.Get(id)
		if l == nil {
			return scheduler.UnknownID, fmt.Sprintf("launcher %d is not there", id)
		}
		where = append(where, &l.Launcher)
	}
	if !c.fits(b, where, freed) {
		return scheduler.NothingGained, fmt.Sprintf("bundle %d would not fit", b.id)
	}
	return scheduler.NotRefused, ""
}

// bundlesTried bounds how many ready bundles are tried for a preemption that
// names none.
const bundlesTried = 16

// freedBy sums what runs would free, by launcher.
func freedBy(runs []*run, suspend bool) capacity.Freed {
	freed := capacity.Freed{}
	for _, r := range runs {
		for _, a := range r.attempts {
			if a.phase != attemptEnded {
				freed.Add(&a.launcher.Launcher, &a.Holding, suspend)
			}
		}
	}
	return freed
}

// fits says whether a bundle would have room: on the launchers named, or on any.
func (c *Core) fits(b *bundle, where []*capacity.Launcher, freed capacity.Freed) bool {
	return c.capacity.Fits(b, where, freed, func(l *capacity.Launcher) bool { return b.unavailable(l) == "" })
}

package cluster

import (
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// preempt takes a preemption, or says why not. It returns the runs that are to leave.
func (c *Cluster) preempt(p scheduler.Preempt) (scheduler.RefusalReason, []*run) {
	runs, reason := c.victims(p)
	if reason != scheduler.NotRefused {
		return reason, nil
	}
	j := c.job(p.For)
	if j == nil {
		return scheduler.UnknownID, nil
	}
	if p.Mode == scheduler.PreemptSuspend && c.tooMany(runs) {
		return scheduler.LimitReached, nil
	}
	if reason := c.gain(j, p, runs); reason != scheduler.NotRefused {
		return reason, nil
	}
	grace := time.Duration(0)
	if p.Mode == scheduler.PreemptSoft {
		grace = min(max(p.Grace, 0), graceMax)
	}
	x := c.reservations.add(p.For, p.Bundle)
	c.After(grace+ReserveMax, func() { c.reservations.lapse(x) })
	c.Tally.Preemptions++
	for _, r := range runs {
		c.leave(r, p, x, stopDelay+grace)
	}
	return scheduler.NotRefused, runs
}

// victims turns attempts into the runs that a preemption means, whole.
func (c *Cluster) victims(p scheduler.Preempt) ([]*run, scheduler.RefusalReason) {
	switch {
	case len(p.Victims) == 0:
		return nil, scheduler.WrongShape
	case p.Mode < scheduler.PreemptKill || p.Mode > scheduler.PreemptSuspend:
		return nil, scheduler.Unsupported
	}
	var runs []*run
	for _, id := range p.Victims {
		a := c.attempt(id)
		if a == nil {
			return nil, scheduler.UnknownID
		}
		if slices.Contains(runs, a.run) {
			continue
		}
		if reason := c.mayPreempt(a.run, p.Mode); reason != scheduler.NotRefused {
			return nil, reason
		}
		runs = append(runs, a.run)
	}
	return runs, scheduler.NotRefused
}

func (c *Cluster) mayPreempt(r *run, mode scheduler.PreemptMode) scheduler.RefusalReason {
	switch {
	case r.bundle.protected > c.Now():
		return scheduler.Protected
	case r.leaves():
		return scheduler.NotRunning
	}
	for _, a := range r.live() {
		switch {
		case a.state == resuming || mode == scheduler.PreemptSuspend && a.state != running:
			return scheduler.NotRunning
		case mode == scheduler.PreemptSuspend && r.bundle.spec().NoSuspend:
			return scheduler.Unsupported
		}
	}
	return scheduler.NotRefused
}

// tooMany says whether more would be suspended somewhere with some runs than may be.
func (c *Cluster) tooMany(runs []*run) bool {
	limits := scheduler.Limits{SuspendedMax: SuspendedMax, SuspendedPercent: SuspendedPercent}
	return slices.ContainsFunc(c.there(), func(l *launcher) bool {
		n, held := 0, int64(0)
		for _, a := range l.attempts {
			goes := a.state != resuming && a.run.leaving != nil && !a.run.kills()
			if a.suspended() || goes || slices.Contains(runs, a.run) {
				n, held = n+1, held+a.need.Memory
			}
		}
		some := slices.ContainsFunc(runs, func(r *run) bool { return slices.Contains(r.where(), l.id) })
		return some && !limits.MaySuspend(n, held, l.info.Memory, l.info.Swap)
	})
}

// gain says whether what is freed fits the beneficiary: the bundle that was named, which is
// ready or suspended, or one of the job's ready ones.
func (c *Cluster) gain(j *job, p scheduler.Preempt, runs []*run) scheduler.RefusalReason {
	if p.Bundle == 0 {
		tried := 0
		for _, b := range j.bundles {
			if b.state != ready || tried == bundlesTried {
				continue
			}
			tried++
			if c.fits(b, nil, runs, p.Mode) {
				return scheduler.NotRefused
			}
		}
		return scheduler.NothingGained
	}
	b := c.bundle(p.Bundle)
	switch {
	case b == nil || b.job != j:
		return scheduler.UnknownID
	case b.resting() != nil:
		return c.gainAgain(b.resting(), p, runs)
	case b.state != ready:
		return scheduler.NotReady
	case p.Placement != nil && len(p.Placement) != len(b.groups):
		return scheduler.WrongShape
	}
	for _, id := range p.Placement {
		if !c.everKnown(id) {
			return scheduler.UnknownID
		}
	}
	if !c.fits(b, p.Placement, runs, p.Mode) {
		return scheduler.NothingGained
	}
	return scheduler.NotRefused
}

// gainAgain says whether what is freed lets a suspended run go on.
func (c *Cluster) gainAgain(r *run, p scheduler.Preempt, runs []*run) scheduler.RefusalReason {
	switch {
	case p.Placement != nil:
		return scheduler.WrongShape
	case slices.Contains(runs, r) || !c.resumable(r, runs, p.Mode):
		return scheduler.NothingGained
	}
	c.Tally.ForSuspended++
	return scheduler.NotRefused
}

// bundlesTried bounds how many ready bundles are tried for a preemption that names none.
const bundlesTried = 16

// fits says whether a bundle would have room with some runs gone: where it is said, or
// anywhere.
func (c *Cluster) fits(b *bundle, where []scheduler.LauncherID, runs []*run, mode scheduler.PreemptMode) bool {
	r := c.room(b.job.id(), b.id)
	r.leave(runs, mode)
	return c.launchers.fits(r, b.groups, where, b.excluded())
}

// everFits says whether a bundle would have room if nothing ran.
func (c *Cluster) everFits(b *bundle) bool {
	return c.launchers.fits(c.emptyRoom(), b.groups, nil, b.excluded())
}

package core

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// preempt takes one set of victims off their slots for a beneficiary, or refuses
// the set whole.
func (c *Core) preempt(d scheduler.Preempt) (scheduler.RefusalReason, string) {
	runs, reason, why := c.victims(d)
	if reason != scheduler.NotRefused {
		return reason, why
	}
	j := c.jobs.get(d.For)
	if j == nil || j.phase == jobAsked {
		return scheduler.UnknownID, fmt.Sprintf("%s is not there", d.For)
	}
	if reason, why := c.wouldFit(d, j, runs); reason != scheduler.NotRefused {
		return reason, why
	}
	grace := time.Duration(0)
	if d.Mode == scheduler.PreemptSoft {
		grace = min(max(d.Grace, 0), c.set.PolicyLimits.GraceMax)
	}
	k := c.newClaim(j.id, d.Bundle, grace)
	for _, r := range runs {
		c.preemptRun(r, k, d.Mode == scheduler.PreemptSuspend, grace)
	}
	c.dropIfEmpty(k)
	return scheduler.NotRefused, ""
}

func (c *Core) preemptRun(r *run, k *claim, suspend bool, grace time.Duration) {
	b := r.bundle
	b.preempted = true
	b.setTwice(0)
	b.protected = c.now.Add(c.set.ProtectFor)
	c.stats.Preempted++
	for _, a := range r.attempts {
		if a.phase != attemptEnded && (a.holds || !suspend) {
			a.claim = k.id
			k.victims++
		}
	}
	if suspend {
		r.toSuspend, r.suspendFor = c.now, k.job
		c.suspendRun(r)
		return
	}
	c.stopRun(r, scheduler.Preempted, fmt.Sprintf("preempted for %s", k.job), grace, k.job)
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
	if r.granted || c.now < r.bundle.protected {
		return scheduler.Protected, fmt.Sprintf("bundle %d commits, or was preempted a short while ago", r.bundle.id)
	}
	for _, a := range r.attempts {
		switch {
		case a.phase == attemptEnded:
		case a.stop != nil || a.suspending || a.resuming || r.stopped != 0:
			return scheduler.NotRunning, fmt.Sprintf("attempt %d is being stopped, suspended or resumed", a.id)
		case suspend && a.phase != attemptRunning:
			return scheduler.NotRunning, fmt.Sprintf("attempt %d does not run", a.id)
		case suspend && !a.launcher.canSuspend:
			return scheduler.Unsupported, fmt.Sprintf("launcher %d (%s) can't suspend", a.launcher.id, a.launcher.name)
		}
	}
	return scheduler.NotRefused, ""
}

// room is what a launcher would have for a beneficiary.
type room struct {
	launcher *launcher
	slots    slotCounts
	memory   int64
}

// wouldFit checks that what is free, reserved for the job and freed fits the
// beneficiary: the bundle that was named, or one of the job's ready ones.
func (c *Core) wouldFit(d scheduler.Preempt, j *job, runs []*run) (scheduler.RefusalReason, string) {
	freed := c.freedBy(runs, d.Mode == scheduler.PreemptSuspend)
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
	if d.Placement != nil && len(d.Placement) != b.width() {
		return scheduler.WrongShape, fmt.Sprintf("bundle %d has %d groups and %d launchers were named", b.id, b.width(), len(d.Placement))
	}
	var where []*launcher
	for _, id := range d.Placement {
		l := c.launchers.get(id)
		if l == nil {
			return scheduler.UnknownID, fmt.Sprintf("launcher %d is not there", id)
		}
		where = append(where, l)
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
func (c *Core) freedBy(runs []*run, suspend bool) map[scheduler.LauncherID]*room {
	freed := map[scheduler.LauncherID]*room{}
	for _, r := range runs {
		for _, a := range r.attempts {
			if a.phase == attemptEnded {
				continue
			}
			x := freed[a.launcher.id]
			if x == nil {
				x = &room{launcher: a.launcher}
				freed[a.launcher.id] = x
			}
			if a.holds {
				x.slots.add(a.kind, a.slots)
			}
			if !suspend {
				x.memory += a.memory
			}
		}
	}
	return freed
}

// fits says whether a bundle would have room: on the launchers named, or on any,
// tried widest group first. The greedy search may miss a fit of a gang of
// unequal groups; naming launchers never does.
func (c *Core) fits(b *bundle, where []*launcher, freed map[scheduler.LauncherID]*room) bool {
	rooms := map[scheduler.LauncherID]*room{}
	roomOf := func(l *launcher) *room {
		if r := rooms[l.id]; r != nil {
			return r
		}
		own := c.drawable(b, l)
		r := &room{launcher: l, slots: slices.Clone(l.free), memory: l.memoryFree + own.memory()}
		for _, h := range own {
			for _, s := range h.slots {
				r.slots.add(s.Kind, s.Count)
			}
		}
		if f := freed[l.id]; f != nil {
			r.memory += f.memory
			for _, s := range f.slots {
				r.slots.add(s.Kind, s.Count)
			}
		}
		rooms[l.id] = r
		return r
	}
	if where == nil {
		return c.place(b, func(l *launcher) bool { return c.unavailable(b, l) == "" }, roomOf)
	}
	for i, l := range where {
		if c.unavailable(b, l) != "" || !roomOf(l).take(b, i) {
			return false
		}
	}
	return true
}

// place tries a launcher for each group of a bundle, the widest group first.
func (c *Core) place(b *bundle, usable func(*launcher) bool, roomOf func(*launcher) *room) bool {
	order := make([]int, b.width())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		_, _, sx, mx := b.demand(x)
		_, _, sy, my := b.demand(y)
		return cmp.Or(sy-sx, cmp.Compare(my, mx))
	})
	for _, i := range order {
		found := slices.ContainsFunc(c.launchers.ids, func(id scheduler.LauncherID) bool {
			l := c.launchers.get(id)
			return usable(l) && roomOf(l).take(b, i)
		})
		if !found {
			return false
		}
	}
	return true
}

func (r *room) take(b *bundle, i int) bool {
	_, kind, slots, memory := b.demand(i)
	if r.slots.of(kind) < slots || r.memory < memory {
		return false
	}
	r.slots.add(kind, -slots)
	r.memory -= memory
	return true
}

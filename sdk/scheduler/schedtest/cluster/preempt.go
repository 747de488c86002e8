package cluster

import (
	"cmp"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// reservation is what an accepted preemption keeps for its beneficiary: as its victims
// leave, their slots and memory come to it.
type reservation struct {
	job     scheduler.JobID
	bundle  scheduler.BundleID // 0: any of the job's
	victims int                // still to free what they hold
	held    []holding          // in order of launcher
	kept    bool               // it had something once
	drawn   bool               // a launch had some of that
}

// holding is what a reservation has at one launcher.
type holding struct {
	of       *reservation
	launcher scheduler.LauncherID
	slots    []scheduler.SlotCount // in order of kind
	memory   int64
}

func (h *holding) add(kind scheduler.SlotKind, n int) {
	i, found := slices.BinarySearchFunc(h.slots, kind, func(s scheduler.SlotCount, k scheduler.SlotKind) int { return cmp.Compare(s.Kind, k) })
	if !found {
		h.slots = slices.Insert(h.slots, i, scheduler.SlotCount{Kind: kind})
	}
	h.slots[i].Count += n
}

// leaving is what takes a run off its slots.
type leaving struct {
	by    scheduler.Preempt
	since telling
}

// kills says whether a run is about to be killed: what it does until then is for nothing.
func (r *run) kills() bool { return r.leaving != nil && r.leaving.by.Mode != scheduler.PreemptSuspend }

func (c *Cluster) preempt(p scheduler.Preempt) (scheduler.RefusalReason, []*run) {
	runs, reason := c.victims(p)
	if reason != scheduler.NotRefused {
		return reason, nil
	}
	j := c.job(p.For)
	if j == nil {
		return scheduler.UnknownID, nil
	}
	if reason := c.gain(j, p, runs); reason != scheduler.NotRefused {
		return reason, nil
	}
	grace := time.Duration(0)
	if p.Mode == scheduler.PreemptSoft {
		grace = min(max(p.Grace, 0), graceMax)
	}
	x := &reservation{job: p.For, bundle: p.Bundle}
	c.reserved = append(c.reserved, x)
	c.After(grace+ReserveMax, func() { c.lapse(x) })
	c.Tally.Preemptions++
	for _, r := range runs {
		r.leaving = &leaving{by: p}
		r.bundle.onceOnly()
		c.protect(r.bundle)
		r.bundle.preempted++
		if r.bundle.preempted == preemptedMax {
			c.fault("bundle %d was preempted %d times", r.bundle.id, preemptedMax)
		}
		for _, a := range r.attempts {
			if a.state != suspended || p.Mode != scheduler.PreemptSuspend {
				a.reserved = x
				x.victims++
			}
		}
		c.Tally.Victims += len(r.attempts)
		c.After(stopDelay+grace, func() { c.effect(r) })
	}
	return scheduler.NotRefused, runs
}

// protect keeps a bundle from preemptions for a while.
func (c *Cluster) protect(b *bundle) {
	b.protected = c.now.Add(ProtectFor)
	c.about(b, scheduler.BundleProtected{At: c.now, Job: b.job.info.ID, Bundle: b.id, Until: b.protected})
}

// preemptedMax is how often one bundle may lose its slots in one story.
const preemptedMax = 25

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
	case r.bundle.protected > c.now:
		return scheduler.Protected
	case r.leaving != nil:
		return scheduler.NotRunning
	}
	for _, a := range r.attempts {
		if mode == scheduler.PreemptSuspend && a.state != running {
			return scheduler.NotRunning
		}
	}
	return scheduler.NotRefused
}

// gain says whether what is freed fits the beneficiary: the bundle that was named, or
// one of the job's ready ones.
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
	case b.state != ready:
		return scheduler.NotReady
	case p.Placement != nil && len(p.Placement) != len(b.groups):
		return scheduler.WrongShape
	}
	for _, id := range p.Placement {
		if !c.known[id] {
			return scheduler.UnknownID
		}
	}
	if !c.fits(b, p.Placement, runs, p.Mode) {
		return scheduler.NothingGained
	}
	return scheduler.NotRefused
}

// bundlesTried bounds how many ready bundles are tried for a preemption that names none.
const bundlesTried = 16

// fits says whether a bundle would have room with some runs gone: where it is said, or
// anywhere.
func (c *Cluster) fits(b *bundle, where []scheduler.LauncherID, runs []*run, mode scheduler.PreemptMode) bool {
	r := c.room(b)
	for _, f := range runs {
		for _, a := range f.attempts {
			if a.state != suspended {
				r.slots[a.on.id][a.need.Kind] += a.need.Slots
			}
			if mode != scheduler.PreemptSuspend {
				r.memory[a.on.id] += a.need.Memory
			}
		}
	}
	return r.fits(c, b, where, b.excluded())
}

// effect takes the victims off.
func (c *Cluster) effect(r *run) {
	if r.leaving == nil {
		return
	}
	p := r.leaving.by
	if p.Mode == scheduler.PreemptSuspend {
		r.leaving = nil
		for _, a := range slices.Clone(r.attempts) {
			c.suspend(a)
		}
		if len(r.attempts) > 0 {
			c.suspendedRuns = append(c.suspendedRuns, r)
		}
		return
	}
	if len(r.attempts) > 0 {
		c.end(r.attempts[0], scheduler.Preempted, p.For)
	}
}

// freed gives what an attempt does not hold any more to the reservation that it left
// its place for; without one it is free.
func (c *Cluster) freed(a *attempt, slots int, memory int64) {
	x := a.reserved
	a.reserved = nil
	if x == nil || !slices.Contains(c.reserved, x) {
		return
	}
	x.victims--
	if l := c.launcher(a.on.id); l == a.on && !l.draining {
		i, found := slices.BinarySearchFunc(x.held, l.id, func(h holding, id scheduler.LauncherID) int { return cmp.Compare(h.launcher, id) })
		if !found {
			x.held = slices.Insert(x.held, i, holding{of: x, launcher: l.id})
		}
		x.held[i].add(a.need.Kind, slots)
		x.held[i].memory += memory
		x.keeps(c)
	}
	c.releaseEmpty(x)
}

func (x *reservation) keeps(c *Cluster) {
	if !x.kept {
		x.kept = true
		c.Tally.Reservations++
	}
}

func (x *reservation) drawnOn(c *Cluster) {
	if !x.drawn {
		x.drawn = true
		c.Tally.Drawn++
	}
}

// lapse ends a reservation whose time is over.
func (c *Cluster) lapse(x *reservation) {
	if x.kept && !x.drawn && slices.Contains(c.reserved, x) {
		c.Tally.Lapsed++
	}
	c.release(x)
}

func (c *Cluster) release(x *reservation) {
	c.reserved = slices.DeleteFunc(c.reserved, func(y *reservation) bool { return x == y })
}

// releaseEmpty ends a reservation that has nothing and will not have anything.
func (c *Cluster) releaseEmpty(x *reservation) {
	empty := func(h holding) bool {
		return h.memory == 0 && !slices.ContainsFunc(h.slots, func(s scheduler.SlotCount) bool { return s.Count > 0 })
	}
	if x.victims == 0 && !slices.ContainsFunc(x.held, func(h holding) bool { return !empty(h) }) {
		c.release(x)
	}
}

// releaseOf ends what was reserved for a bundle that started, or may not any more, and
// for its job when that has no other that is ready.
func (c *Cluster) releaseOf(b *bundle) {
	demand := slices.ContainsFunc(b.job.bundles, func(b *bundle) bool { return b.state == ready })
	for _, x := range slices.Clone(c.reserved) {
		switch {
		case x.job != b.job.info.ID:
		case x.bundle == b.id, x.bundle == 0 && !demand:
			c.release(x)
		default:
			c.releaseEmpty(x)
		}
	}
}

// releaseOn ends what is reserved at a launcher that drains or is gone.
func (c *Cluster) releaseOn(id scheduler.LauncherID) {
	for _, x := range slices.Clone(c.reserved) {
		x.held = slices.DeleteFunc(x.held, func(h holding) bool { return h.launcher == id })
		c.releaseEmpty(x)
	}
}

// drawable lists what is reserved at a launcher that a bundle may draw on: first what is
// for it alone.
func (c *Cluster) drawable(b *bundle, id scheduler.LauncherID) []*holding {
	var own, any []*holding
	for _, x := range c.reserved {
		for i := range x.held {
			switch h := &x.held[i]; {
			case h.launcher != id || x.job != b.job.info.ID:
			case x.bundle == b.id:
				own = append(own, h)
			case x.bundle == 0:
				any = append(any, h)
			}
		}
	}
	return append(own, any...)
}

// draw takes what a bundle that starts needs from what is reserved for it; the rest it
// has from what is free.
func (c *Cluster) draw(b *bundle, where []scheduler.LauncherID) {
	for i, g := range b.groups {
		slots, memory := g.Slots, g.Memory
		for _, h := range c.drawable(b, where[i]) {
			for k := range h.slots {
				if s := &h.slots[k]; s.Kind == g.Kind {
					n := min(slots, s.Count)
					s.Count, slots = s.Count-n, slots-n
					if n > 0 {
						h.of.drawnOn(c)
					}
				}
			}
			m := min(memory, h.memory)
			h.memory, memory = h.memory-m, memory-m
			if m > 0 {
				h.of.drawnOn(c)
			}
		}
	}
}

// settle does what the manager does on its own before it makes a round.
func (c *Cluster) settle() {
	c.relaxAvoid()
	c.suspendedRuns = slices.DeleteFunc(c.suspendedRuns, func(r *run) bool { return len(r.attempts) == 0 || r.attempts[0].state != suspended })
	if c.Abilities.Has(scheduler.AbilityResume) {
		return
	}
	for _, r := range slices.Clone(c.suspendedRuns) {
		if r.leaving == nil && c.resumable(r) {
			c.resume(r)
		}
	}
}

func (c *Cluster) attempt(id scheduler.AttemptID) *attempt {
	for _, l := range c.launchers {
		for _, a := range l.attempts {
			if a.id == id {
				return a
			}
		}
	}
	return nil
}

package cluster

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// preemption is an accepted set and what it holds for its beneficiary.
type preemption struct {
	job    scheduler.JobID
	bundle scheduler.BundleID
	held   []holding
	runs   []*run
	tale   telling
	done   bool // it has taken effect
}

type holding struct {
	launcher scheduler.LauncherID
	kind     scheduler.SlotKind
	slots    int
	memory   int64
}

// room is what could be taken, tentatively.
type room struct {
	slots  map[scheduler.LauncherID]map[scheduler.SlotKind]int
	memory map[scheduler.LauncherID]int64
}

// room adds up what is free or reserved for a job on the launchers that are not
// draining, and on all when the job is 0: a suspended attempt is resumed where it
// is. freed runs count as gone.
func (c *Cluster) room(job scheduler.JobID, freed []*run) room {
	r := room{map[scheduler.LauncherID]map[scheduler.SlotKind]int{}, map[scheduler.LauncherID]int64{}}
	for _, l := range c.launchers {
		if l.draining && job != 0 {
			continue
		}
		kinds := map[scheduler.SlotKind]int{}
		for _, s := range l.info.Slots {
			kinds[s.Kind] = c.freeSlots(l, s.Kind)
		}
		r.memory[l.id] = c.freeMemory(l)
		for _, x := range c.reservations(l) {
			if x.Job == job {
				kinds[x.Kind] += x.Slots
				r.memory[l.id] += x.Memory
			}
		}
		r.slots[l.id] = kinds
	}
	for _, f := range freed {
		for _, a := range f.attempts {
			if r.slots[a.on.id] != nil {
				r.slots[a.on.id][a.need.Kind] += a.need.Slots
			}
		}
	}
	return r
}

func (r room) take(l scheduler.LauncherID, kind scheduler.SlotKind, slots int, memory int64) bool {
	if r.slots[l] == nil || r.slots[l][kind] < slots || r.memory[l] < memory {
		return false
	}
	r.slots[l][kind] -= slots
	r.memory[l] -= memory
	return true
}

func (c *Cluster) preempt(p scheduler.Preempt) scheduler.RefusalReason {
	j := c.job(p.For)
	if j == nil {
		return scheduler.UnknownID
	}
	runs, reason := c.victims(p)
	if reason != scheduler.NotRefused {
		return reason
	}
	if reason := c.gain(j, p, runs); reason != scheduler.NotRefused {
		return reason
	}
	set := &preemption{job: p.For, bundle: p.Bundle, runs: runs}
	c.sets = append(c.sets, set)
	c.Tally.Preemptions++
	for _, r := range runs {
		r.leaving = true
		r.bundle.protected = c.now.Add(protectFor)
		r.bundle.preempted++
		if r.bundle.preempted == preemptedMax {
			c.fault("bundle %d was preempted %d times", r.bundle.id, preemptedMax)
		}
		c.Tally.Victims += len(r.attempts)
	}
	delay := stopDelay
	if p.Mode == scheduler.PreemptSoft {
		delay += p.Grace
	}
	c.After(delay, func() { c.effect(set, p.Mode) })
	return scheduler.NotRefused
}

// preemptedMax is how often one bundle may lose its slots in one story.
const preemptedMax = 25

// victims turns attempts into the runs that a preemption means, whole.
func (c *Cluster) victims(p scheduler.Preempt) ([]*run, scheduler.RefusalReason) {
	var runs []*run
	for _, id := range p.Victims {
		a := c.attempt(id)
		if a == nil && uint64(id) > c.ids {
			return nil, scheduler.UnknownID
		}
		if a == nil {
			return nil, scheduler.NotRunning
		}
		if !slices.Contains(runs, a.run) {
			runs = append(runs, a.run)
		}
	}
	if p.Mode < scheduler.PreemptKill || p.Mode > scheduler.PreemptSuspend {
		return nil, scheduler.Unsupported
	}
	for _, r := range runs {
		if r.leaving {
			return nil, scheduler.NotRunning
		}
		for _, a := range r.attempts {
			if a.state == suspended || p.Mode == scheduler.PreemptSuspend && a.state != running {
				return nil, scheduler.NotRunning
			}
		}
		if r.bundle.protected > c.now {
			return nil, scheduler.Protected
		}
	}
	if len(runs) == 0 {
		return nil, scheduler.NothingGained
	}
	return runs, scheduler.NotRefused
}

// gain says whether what is freed fits the beneficiary.
func (c *Cluster) gain(j *job, p scheduler.Preempt, runs []*run) scheduler.RefusalReason {
	found := false
	for _, b := range j.bundles {
		if p.Bundle != 0 && b.id != p.Bundle || b.state != ready && !b.twice {
			continue
		}
		found = true
		r := c.room(j.info.ID, runs)
		if p.Mode != scheduler.PreemptSuspend {
			for _, f := range runs {
				for _, a := range f.attempts {
					r.memory[a.on.id] += a.need.Memory
				}
			}
		}
		if r.fits(c, b, p.Placement) {
			return scheduler.NotRefused
		}
	}
	if !found {
		return scheduler.NotReady
	}
	return scheduler.NothingGained
}

func (r room) fits(c *Cluster, b *bundle, placement []scheduler.LauncherID) bool {
	for i, g := range b.groups {
		fit := false
		for _, l := range c.launchers {
			if len(placement) == len(b.groups) && placement[i] != l.id || slices.Contains(b.excluded(), l.id) {
				continue
			}
			if fit = r.take(l.id, g.Kind, g.Slots, g.Memory); fit {
				break
			}
		}
		if !fit {
			return false
		}
	}
	return true
}

// effect takes the victims off and holds what they had.
func (c *Cluster) effect(s *preemption, mode scheduler.PreemptMode) {
	s.done = true
	standing := slices.Contains(c.sets, s)
	for _, r := range s.runs {
		if !r.leaving || len(r.attempts) == 0 {
			continue
		}
		r.leaving = false
		for _, a := range slices.Clone(r.attempts) {
			h := holding{a.on.id, a.need.Kind, a.need.Slots, a.need.Memory}
			if mode == scheduler.PreemptSuspend {
				h.memory = 0
				c.suspend(a)
			} else {
				c.end(a, scheduler.Preempted, s.job)
			}
			if l := c.launcher(h.launcher); standing && l != nil && !l.draining {
				s.held = append(s.held, h)
			}
		}
	}
	c.After(reserveMax, func() { c.release(s) })
}

func (c *Cluster) release(s *preemption) {
	c.sets = slices.DeleteFunc(c.sets, func(x *preemption) bool { return x == s })
}

// draw lets a launch of a job use what is held for it, and releases the sets
// that were made for it.
func (c *Cluster) draw(b *bundle, where []scheduler.LauncherID) {
	for i, g := range b.groups {
		slots, memory := g.Slots, g.Memory
		for _, s := range c.sets {
			for k := range s.held {
				h := &s.held[k]
				if s.job != b.job.info.ID || h.launcher != where[i] {
					continue
				}
				if h.kind == g.Kind {
					n := min(slots, h.slots)
					h.slots, slots = h.slots-n, slots-n
				}
				m := min(memory, h.memory)
				h.memory, memory = h.memory-m, memory-m
			}
		}
	}
	c.sets = slices.DeleteFunc(c.sets, func(s *preemption) bool {
		return s.job == b.job.info.ID && (s.bundle == 0 || s.bundle == b.id)
	})
}

// settle does what the manager does on its own before it makes a round.
func (c *Cluster) settle() {
	c.sets = slices.DeleteFunc(c.sets, func(s *preemption) bool {
		j := c.job(s.job)
		return j == nil || !slices.ContainsFunc(j.bundles, func(b *bundle) bool {
			return (s.bundle == 0 || s.bundle == b.id) && (b.state == ready || b.twice)
		})
	})
	for _, s := range c.sets {
		// What is held nothing of is told as nothing.
		s.held = slices.DeleteFunc(s.held, func(h holding) bool { return h.slots == 0 && h.memory == 0 })
	}
	if c.Abilities.Has(scheduler.AbilityResume) {
		return
	}
	for _, j := range c.jobs {
		for _, b := range j.bundles {
			for _, r := range b.runs {
				if c.resumable(r) {
					c.resume(r)
				}
			}
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

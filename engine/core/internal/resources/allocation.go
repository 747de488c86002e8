package resources

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Allocation is the resources of one attempt on its launcher. It has memory while the attempt is
// live, in swap while it is suspended as far as there is room. It has slots except while the
// attempt is suspended. An empty allocation has nothing.
type Allocation struct {
	Request
	HasSlots bool
	// Empty says that it has nothing: its attempt is held ahead, or handed all to such a one.
	Empty       bool
	Reservation uint64 // the reservation that gets what it releases; 0: none
	// user is what the attempt's user holds, in which the allocation counts; nil: it counts nowhere.
	user *scheduler.Usage
}

// Holds returns what the allocation has on its launcher of what is counted for users.
func (h *Allocation) Holds(l *Launcher) scheduler.Usage {
	switch {
	case h.Empty:
		return scheduler.Usage{}
	case h.HasSlots:
		return h.Usage()
	}
	return h.Usage().Minus(h.TakesToResume(l))
}

// Frees returns what of that its suspension, or its end, frees.
func (h *Allocation) Frees(l *Launcher, suspend bool) scheduler.Usage {
	switch {
	case !suspend:
		return h.Holds(l)
	case h.HasSlots:
		return h.TakesToResume(l)
	}
	return scheduler.Usage{}
}

// TakesToResume returns what of that a resumption takes, and a suspension frees.
func (h *Allocation) TakesToResume(l *Launcher) scheduler.Usage {
	return h.Usage().FreedBySuspension(l.suspensionFrees)
}

// CountFor counts an allocation in what its user holds, from now on.
func (h *Allocation) CountFor(l *Launcher, user *scheduler.Usage) {
	h.user = user
	*user = user.Plus(h.Holds(l))
}

// CountForNobody ends CountFor, where the count begins anew.
func (h *Allocation) CountForNobody() { h.user = nil }

// Allocate takes what a bundle requests, group by group, first from what is reserved for it and
// then from what is free. If anything is missing it takes nothing and returns what; "" otherwise.
func (c *Resources) Allocate(b Bundle, where []*Launcher) string {
	var undo []func()
	for i, l := range where {
		d := b.Request(i)
		reserved := l.reservedFor(b)
		haveSlots, haveMemory := l.free.Of(d.Kind)+reserved.slots(d.Kind), l.freeMemory+reserved.memory()
		haveResources := l.freeResources.Plus(reserved.resources())
		if haveSlots < d.Slots || haveMemory < d.Memory || !haveResources.Covers(d.Resources) {
			for _, f := range slices.Backward(undo) {
				f()
			}
			return fmt.Sprintf("group %d of %v needs %s, and launcher %d (%s) has %d and %s%s for it",
				i, b.ID(), d, l.ID, l.Name, haveSlots, Size(haveMemory), beside(haveResources, d.Resources))
		}
		for _, p := range reserved {
			s, m, r := min(d.Slots, p.slots.Of(d.Kind)), min(d.Memory, p.memory), d.Resources.Least(p.resources)
			p.draw(d.Kind, s, m, r)
			d.Slots, d.Memory, d.Resources = d.Slots-s, d.Memory-m, d.Resources.Minus(r)
			kind := d.Kind // a closure over d would allocate d again for each start
			undo = append(undo, func() { p.draw(kind, -s, -m, r.Times(-1)) })
		}
		l.free.Add(d.Kind, -d.Slots)
		l.freeMemory -= d.Memory
		l.freeResources = l.freeResources.Minus(d.Resources)
		if len(where) > 1 {
			took := d
			undo = append(undo, func() {
				l.free.Add(took.Kind, took.Slots)
				l.freeMemory += took.Memory
				l.freeResources = l.freeResources.Plus(took.Resources)
			})
		}
		c.Offers.MarkChanged(l)
	}
	return ""
}

// ReleaseSlots releases an allocation's slots when its attempt is suspended, the part of its memory
// that goes to swap, and the resources that suspension frees there. They go to the reservation that
// it names, or become free.
func (c *Resources) ReleaseSlots(l *Launcher, h *Allocation) {
	if !h.HasSlots {
		return
	}
	if h.user != nil {
		*h.user = h.user.Minus(h.TakesToResume(l))
	}
	h.HasSlots = false
	c.giveBack(l, h, h.Slots, l.moveToSwap(h, +1), h.Resources.FreedBySuspension(l.suspensionFrees))
}

// ReleaseAllOf releases the whole allocation.
func (c *Resources) ReleaseAllOf(l *Launcher, h *Allocation) {
	if h.user != nil {
		*h.user = h.user.Minus(h.Holds(l))
		h.user = nil
	}
	if h.Empty {
		c.Offers.MarkChanged(l)
		return
	}
	slots, memory, resources := 0, h.Memory, h.Resources
	if h.HasSlots {
		slots = h.Slots
	} else {
		memory += l.moveToSwap(h, -1)
		resources = l.keptSuspended(h)
	}
	h.HasSlots = false
	c.giveBack(l, h, slots, memory, resources)
}

// HandOver gives all that an allocation has to an empty one on the same launcher, whose request is
// the same. What the first one was to release for a reservation, the other one will.
func (c *Resources) HandOver(l *Launcher, from, to *Allocation) {
	from.HasSlots, from.Empty, to.HasSlots, to.Empty = false, true, true, false
	from.user, to.user = nil, from.user // of one job, so of one user
	if from.Reservation != 0 {
		c.Reservations.VictimDone(to) // of a reservation to which it had nothing to give
		from.Reservation, to.Reservation = 0, from.Reservation
	}
	c.Offers.MarkChanged(l)
}

// keptSuspended returns the resources that an allocation without slots holds.
func (l *Launcher) keptSuspended(h *Allocation) scheduler.Resources {
	return h.Resources.Minus(h.Resources.FreedBySuspension(l.suspensionFrees))
}

func (c *Resources) giveBack(l *Launcher, h *Allocation, slots int, memory int64, resources scheduler.Resources) {
	if !l.Up {
		return
	}
	c.Offers.capacityFreed = true
	c.Offers.MarkChanged(l)
	if p := c.Reservations.partFor(l, h); p != nil {
		p.slots.Add(h.Kind, slots)
		p.memory += memory
		p.resources = p.resources.Plus(resources)
		return
	}
	l.free.Add(h.Kind, slots)
	l.freeMemory += memory
	l.freeResources = l.freeResources.Plus(resources)
	if len(l.parts) > 0 {
		c.Reservations.fill(l)
	}
}

// AllocationOn is an allocation and its launcher.
type AllocationOn struct {
	On *Launcher
	*Allocation
}

// TakeForResume allocates slots again for a bundle's allocations without slots, with the resources
// that their suspension freed, and moves their memory out of swap, first from what is reserved for that bundle alone and then from what is free.
// If anything is missing it takes nothing and returns what; "" otherwise.
func (c *Resources) TakeForResume(b scheduler.BundleID, list []AllocationOn) string {
	var undo []func()
	for _, h := range list {
		l, kind, need, memory := h.On, h.Kind, h.Slots, h.On.neededToResume(h.On.suspendedMemory, h.Memory)
		resources := h.Resources.FreedBySuspension(l.suspensionFrees)
		own := l.reservedForAlone(b)
		have, free, haveResources := l.free.Of(kind)+own.slots(kind), l.freeMemory+own.memory(), l.freeResources.Plus(own.resources())
		if have < need || free < memory || !haveResources.Covers(resources) {
			for _, f := range slices.Backward(undo) {
				f()
			}
			return lacksForResume(b, Request{kind, need, memory, resources}, l, have, free, haveResources)
		}
		for _, p := range own {
			n, m, r := min(need, p.slots.Of(kind)), min(memory, p.memory), resources.Least(p.resources)
			p.draw(kind, n, m, r)
			need, memory, resources = need-n, memory-m, resources.Minus(r)
			undo = append(undo, func() { p.draw(kind, -n, -m, r.Times(-1)) })
		}
		h.HasSlots = true
		if h.user != nil {
			*h.user = h.user.Plus(h.TakesToResume(l))
		}
		l.free.Add(kind, -need)
		l.freeMemory -= memory
		l.freeResources = l.freeResources.Minus(resources)
		l.moveToSwap(h.Allocation, -1)
		undo = append(undo, func() {
			h.HasSlots = false
			if h.user != nil {
				*h.user = h.user.Minus(h.TakesToResume(l))
			}
			l.free.Add(kind, need)
			l.freeMemory += memory
			l.freeResources = l.freeResources.Plus(resources)
			l.moveToSwap(h.Allocation, +1)
		})
		c.Offers.MarkChanged(l)
	}
	return ""
}

// lacksForResume returns what a suspended attempt lacks for its resumption.
func lacksForResume(b scheduler.BundleID, d Request, l *Launcher, slots int, memory int64, has scheduler.Resources) string {
	if d.Memory == 0 && d.Resources.IsZero() {
		return fmt.Sprintf("an attempt of %v needs %d %s slots to go on, and launcher %d (%s) has %d for it", b, d.Slots, d.Kind, l.ID, l.Name, slots)
	}
	return fmt.Sprintf("an attempt of %v needs %s to go on, and launcher %d (%s) has %d and %s%s for it",
		b, d, l.ID, l.Name, slots, Size(memory), beside(has, d.Resources))
}

// Adopt counts an allocation read from a checkpoint.
func (l *Launcher) Adopt(h *Allocation) {
	if !h.HasSlots && !h.Empty {
		l.moveToSwap(h, +1)
	}
}

// moveToSwap counts allocations without slots. It returns how much memory moves to swap, or back
// when it is negative.
func (l *Launcher) moveToSwap(h *Allocation, n int) (swapped int64) {
	before := l.inSwap(l.suspendedMemory)
	l.suspended += n
	l.suspendedMemory += int64(n) * h.Memory
	return l.inSwap(l.suspendedMemory) - before
}

// neededToResume is the bytes of a suspended allocation in swap, which it needs in memory to be
// resumed.
func (l *Launcher) neededToResume(held, memory int64) int64 {
	return l.inSwap(held) - l.inSwap(held-memory)
}

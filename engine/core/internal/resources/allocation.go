package resources

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Allocation is the resources of one attempt on its launcher. It has memory while the attempt is
// live, in swap while it is suspended as far as there is room. It has slots except while the
// attempt is suspended.
type Allocation struct {
	Request
	HasSlots    bool
	Reservation uint64 // the reservation that gets what it releases; 0: none
}

// Allocate takes what a bundle requests, group by group, first from what is reserved for it and
// then from what is free. If anything is missing it takes nothing and returns what; "" otherwise.
func (c *Resources) Allocate(b Bundle, where []*Launcher) string {
	var undo []func()
	for i, l := range where {
		d := b.Request(i)
		reserved := l.reservedFor(b)
		haveSlots, haveMemory := l.free.Of(d.Kind)+reserved.slots(d.Kind), l.freeMemory+reserved.memory()
		if haveSlots < d.Slots || haveMemory < d.Memory {
			for _, f := range slices.Backward(undo) {
				f()
			}
			return fmt.Sprintf("group %d of %v needs %d %s slots and %s of memory, and launcher %d (%s) has %d and %s for it",
				i, b.ID(), d.Slots, d.Kind, Size(d.Memory), l.ID, l.Name, haveSlots, Size(haveMemory))
		}
		for _, p := range reserved {
			s, m := min(d.Slots, p.slots.Of(d.Kind)), min(d.Memory, p.memory)
			p.draw(d.Kind, s, m)
			d.Slots, d.Memory = d.Slots-s, d.Memory-m
			kind := d.Kind // a closure over d would allocate d again for each start
			undo = append(undo, func() { p.draw(kind, -s, -m) })
		}
		l.free.Add(d.Kind, -d.Slots)
		l.freeMemory -= d.Memory
		if len(where) > 1 {
			took := d
			undo = append(undo, func() { l.free.Add(took.Kind, took.Slots); l.freeMemory += took.Memory })
		}
		c.Offers.MarkChanged(l)
	}
	return ""
}

// ReleaseSlots releases an allocation's slots when its attempt is suspended, and the part of its
// memory that goes to swap. They go to the reservation that it names, or become free.
func (c *Resources) ReleaseSlots(l *Launcher, h *Allocation) {
	if !h.HasSlots {
		return
	}
	h.HasSlots = false
	c.giveBack(l, h, h.Slots, l.moveToSwap(h, +1))
}

// ReleaseAllOf releases the whole allocation.
func (c *Resources) ReleaseAllOf(l *Launcher, h *Allocation) {
	slots, memory := 0, h.Memory
	if h.HasSlots {
		slots = h.Slots
	} else {
		memory += l.moveToSwap(h, -1)
	}
	h.HasSlots = false
	c.giveBack(l, h, slots, memory)
}

func (c *Resources) giveBack(l *Launcher, h *Allocation, slots int, memory int64) {
	if !l.Up {
		return
	}
	c.Offers.capacityFreed = true
	c.Offers.MarkChanged(l)
	if p := c.Reservations.partFor(l, h); p != nil {
		p.slots.Add(h.Kind, slots)
		p.memory += memory
		return
	}
	l.free.Add(h.Kind, slots)
	l.freeMemory += memory
}

// AllocationOn is an allocation and its launcher.
type AllocationOn struct {
	On *Launcher
	*Allocation
}

// TakeForResume allocates slots again for a bundle's allocations without slots, and moves their
// memory out of swap, first from what is reserved for that bundle alone and then from what is free.
// If anything is missing it takes nothing and returns what; "" otherwise.
func (c *Resources) TakeForResume(b scheduler.BundleID, list []AllocationOn) string {
	var undo []func()
	for _, h := range list {
		l, kind, need, memory := h.On, h.Kind, h.Slots, h.On.neededToResume(h.On.suspendedMemory, h.Memory)
		own := l.reservedForAlone(b)
		if have, free := l.free.Of(kind)+own.slots(kind), l.freeMemory+own.memory(); have < need || free < memory {
			for _, f := range slices.Backward(undo) {
				f()
			}
			return lacksForResume(b, Request{kind, need, memory}, l, have, free)
		}
		for _, p := range own {
			n, m := min(need, p.slots.Of(kind)), min(memory, p.memory)
			p.draw(kind, n, m)
			need, memory = need-n, memory-m
			undo = append(undo, func() { p.draw(kind, -n, -m) })
		}
		h.HasSlots = true
		l.free.Add(kind, -need)
		l.freeMemory -= memory
		l.moveToSwap(h.Allocation, -1)
		undo = append(undo, func() {
			h.HasSlots = false
			l.free.Add(kind, need)
			l.freeMemory += memory
			l.moveToSwap(h.Allocation, +1)
		})
		c.Offers.MarkChanged(l)
	}
	return ""
}

// lacksForResume returns what a suspended attempt lacks for its resumption.
func lacksForResume(b scheduler.BundleID, d Request, l *Launcher, slots int, memory int64) string {
	if d.Memory == 0 {
		return fmt.Sprintf("an attempt of %v needs %d %s slots to go on, and launcher %d (%s) has %d for it", b, d.Slots, d.Kind, l.ID, l.Name, slots)
	}
	return fmt.Sprintf("an attempt of %v needs %d %s slots and %s of memory to go on, and launcher %d (%s) has %d and %s for it",
		b, d.Slots, d.Kind, Size(d.Memory), l.ID, l.Name, slots, Size(memory))
}

// Adopt counts an allocation read from a checkpoint.
func (l *Launcher) Adopt(h *Allocation) {
	if !h.HasSlots {
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

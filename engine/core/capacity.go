package core

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dustin/go-humanize"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// slotCounts are counts by kind, in order of kind.
type slotCounts []scheduler.SlotCount

func (s slotCounts) of(kind string) int {
	for _, c := range s {
		if c.Kind == kind {
			return c.Count
		}
	}
	return 0
}

func (s *slotCounts) add(kind string, n int) {
	i, found := slices.BinarySearchFunc(*s, kind, func(c scheduler.SlotCount, k string) int { return cmp.Compare(c.Kind, k) })
	if !found {
		*s = slices.Insert(*s, i, scheduler.SlotCount{Kind: kind})
	}
	(*s)[i].Count += n
}

// take takes what a bundle needs, group by group, first from what is reserved
// for it and then from what is free. It says what is missing, and then took
// nothing; "" when it took all.
func (c *Core) take(b *bundle, where []*launcher) string {
	var undo []func()
	for i, l := range where {
		_, kind, slots, memory := b.demand(i)
		fromClaims := c.drawable(b, l)
		haveSlots, haveMemory := l.free.of(kind)+fromClaims.slots(kind), l.memoryFree+fromClaims.memory()
		if haveSlots < slots || haveMemory < memory {
			for _, f := range slices.Backward(undo) {
				f()
			}
			return fmt.Sprintf("group %d of bundle %d needs %d %s slots and %s of memory, and launcher %d (%s) has %d and %s for it",
				i, b.id, slots, kind, sizeText(memory), l.id, l.name, haveSlots, sizeText(haveMemory))
		}
		for _, h := range fromClaims {
			s, m := min(slots, h.slots.of(kind)), min(memory, h.memory)
			draw := func(s int, m int64) {
				if s != 0 { // else it has none of the kind, maybe
					h.slots.add(kind, -s)
				}
				h.memory -= m
			}
			draw(s, m)
			slots, memory = slots-s, memory-m
			undo = append(undo, func() { draw(-s, -m) })
		}
		l.free.add(kind, -slots)
		l.memoryFree -= memory
		if len(where) > 1 {
			s, m := slots, memory
			undo = append(undo, func() { l.free.add(kind, s); l.memoryFree += m })
		}
		c.offerChanged(l)
	}
	return ""
}

// giveSlots gives back an attempt's slots: to the claim it is preempted for, or
// to all.
func (c *Core) giveSlots(a *attempt) {
	if !a.holds {
		return
	}
	a.holds = false
	c.give(a, a.slots, 0)
}

// giveAll gives back all that an attempt holds.
func (c *Core) giveAll(a *attempt) {
	slots := 0
	if a.holds {
		slots = a.slots
	}
	a.holds = false
	c.give(a, slots, a.memory)
}

func (c *Core) give(a *attempt, slots int, memory int64) {
	l := a.launcher
	if !l.up {
		return
	}
	c.roomier = true
	c.offerChanged(l)
	if h := c.holdFor(a); h != nil {
		h.slots.add(a.kind, slots)
		h.memory += memory
		return
	}
	l.free.add(a.kind, slots)
	l.memoryFree += memory
}

// holdSlots takes an attempt's slots again, which are free.
func (c *Core) holdSlots(a *attempt) {
	a.holds = true
	a.launcher.free.add(a.kind, -a.slots)
	c.offerChanged(a.launcher)
}

// sizeText writes an amount of memory for people. One that its short form does not
// give exactly shows its bytes too: two amounts never look alike that are not.
func sizeText(n int64) string {
	text := humanize.IBytes(uint64(max(n, 0)))
	if exact, err := humanize.ParseBytes(text); err == nil && exact == uint64(n) {
		return text
	}
	return fmt.Sprintf("%s (%d bytes)", text, n)
}

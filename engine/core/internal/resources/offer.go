package resources

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// OfferChanged has a launcher's offer looked at when the next round is made.
func (c *Resources) OfferChanged(l *Launcher) {
	c.MarkDirty(l)
	if !l.offerChanged && l.Up {
		l.offerChanged = true
		c.offersChanged = append(c.offersChanged, l.ID)
	}
}

// EnableChanges has DrainDirty list launchers from now on. No decision depends on it.
func (c *Resources) EnableChanges() { c.changesEnabled = true }

// MarkDirty has DrainDirty list a launcher.
func (c *Resources) MarkDirty(l *Launcher) {
	if c.changesEnabled && !l.dirty {
		l.dirty = true
		c.dirty = append(c.dirty, l.ID)
	}
}

// DrainDirty lists the launchers that changed in any way since the last call, in no order. The
// list is valid until the next MarkDirty. Some launchers may be forgotten by then.
func (c *Resources) DrainDirty() []scheduler.LauncherID {
	list := c.dirty
	for _, id := range list {
		if l := c.launchers.Get(id); l != nil {
			l.dirty = false
		}
	}
	c.dirty = c.dirty[:0]
	return list
}

// AnyOfferChanged says whether some offer may have changed.
func (c *Resources) AnyOfferChanged() bool { return len(c.offersChanged) > 0 }

// Offers lists the offers that changed since they were sent last, or all of them, and counts them
// as sent.
func (c *Resources) Offers(all bool) []scheduler.Offer {
	ids := c.offersChanged
	if all {
		ids = c.launchers.IDs()
	} else {
		slices.Sort(ids)
		ids = slices.Compact(ids) // a launcher that left and came is there twice
	}
	list := make([]scheduler.Offer, 0, len(ids))
	var free []scheduler.SlotCount // room for some of their counts
	for _, id := range ids {
		l := c.launchers.Get(id)
		if l == nil || !l.Up {
			continue
		}
		l.offerChanged = false
		if cap(free)-len(free) < len(l.free) {
			free = make([]scheduler.SlotCount, 0, max(len(l.free), offersTogether))
		}
		var o scheduler.Offer
		o, free = l.offer(free)
		if all || !sameOffer(o, l.lastOffer) {
			list = append(list, o)
			l.lastOffer = o
		}
	}
	c.offersChanged = c.offersChanged[:0]
	return list
}

// offersTogether is how many counts of offers share a piece of memory, which stays
// while one of them holds.
const offersTogether = 64

// Offer returns what a launcher has to give now.
func (l *Launcher) Offer() scheduler.Offer {
	o, _ := l.offer(nil)
	return o
}

// offer is Offer. It appends to free what is its Free.
func (l *Launcher) offer(free []scheduler.SlotCount) (scheduler.Offer, []scheduler.SlotCount) {
	o := scheduler.Offer{Launcher: l.ID, Suspended: l.suspended, Held: l.suspendedMemory, Swap: l.FreeSwap()}
	switch {
	case l.Usable():
		o.Free, free = l.offered(free)
		o.Memory = l.freeMemory
	case l.suspended > 0: // it may go on
		o.ForResume, free = l.offered(free)
		o.ForResumeMemory = l.freeMemory
	}
	for _, p := range l.parts {
		memory := p.memory
		for _, s := range p.slots {
			if s.Count > 0 || memory > 0 {
				o.Reserved = addReservation(o.Reserved, scheduler.Reservation{Job: p.of.Job, Bundle: p.of.Bundle, Kind: s.Kind, Slots: s.Count, Memory: memory})
				memory = 0 // counted once, on the first kind
			}
		}
	}
	return o, free
}

// offered lists the free slots of kinds that have some, in a piece of free, to which it is
// appended.
func (l *Launcher) offered(free []scheduler.SlotCount) (list, grown []scheduler.SlotCount) {
	start := len(free)
	for _, f := range l.free {
		if f.Count > 0 {
			free = append(free, f)
		}
	}
	if len(free) == start {
		return nil, free
	}
	return free[start:len(free):len(free)], free
}

// addReservation sums reservations of one job, bundle and kind, in order of those.
func addReservation(list []scheduler.Reservation, r scheduler.Reservation) []scheduler.Reservation {
	for i := range list {
		x := &list[i]
		order := cmp.Or(cmp.Compare(x.Job, r.Job), cmp.Compare(x.Bundle, r.Bundle), cmp.Compare(x.Kind, r.Kind))
		if order == 0 {
			x.Slots += r.Slots
			x.Memory += r.Memory
			return list
		}
		if order > 0 {
			return slices.Insert(list, i, r)
		}
	}
	return append(list, r)
}

func sameOffer(a, b scheduler.Offer) bool {
	return a.Memory == b.Memory && a.Suspended == b.Suspended && a.Held == b.Held && a.Swap == b.Swap &&
		a.ForResumeMemory == b.ForResumeMemory && slices.Equal(a.Free, b.Free) && slices.Equal(a.ForResume, b.ForResume) && slices.Equal(a.Reserved, b.Reserved)
}

package core

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// offerChanged has a launcher's offer looked at when the next round is made.
func (c *Core) offerChanged(l *launcher) {
	if !l.changed && l.up {
		l.changed = true
		c.changedOffers = append(c.changedOffers, l.id)
	}
}

// startRound returns a round for the policy, if there is one that is not thinking, enough
// time has passed, and there is something to tell; else nil.
func (c *Core) startRound() *AskPolicy {
	p := &c.policy
	if !p.Due(c.now, c.set.RoundGap) || !p.Wanted() && len(c.changedOffers) == 0 {
		return nil
	}
	offers := c.offers(p.Fresh())
	if len(offers) == 0 && (!p.Wanted() || p.Vain(c.now, c.set.RoundGap, c.set.RefusedGapMax)) {
		return nil // what changed came back to what it was
	}
	c.stats.Rounds++
	return &AskPolicy{Generation: p.Current().Number, Round: p.Ask(c.now, offers)}
}

// offers lists the offers that changed since the last round, or all of them.
func (c *Core) offers(all bool) []scheduler.Offer {
	ids := c.changedOffers
	if all {
		ids = c.launchers.ids
	} else {
		slices.Sort(ids)
		ids = slices.Compact(ids) // a launcher that left and came is there twice
	}
	list := make([]scheduler.Offer, 0, len(ids))
	var free []scheduler.SlotCount // room for some of their counts
	for _, id := range ids {
		l := c.launchers.get(id)
		if l == nil || !l.up {
			continue
		}
		l.changed = false
		if cap(free)-len(free) < len(l.free) {
			free = make([]scheduler.SlotCount, 0, max(len(l.free), offersTogether))
		}
		var o scheduler.Offer
		o, free = c.offerOf(l, free)
		if all || !sameOffer(o, l.told) {
			list = append(list, o)
			l.told = o
		}
	}
	c.changedOffers = c.changedOffers[:0]
	return list
}

// offersTogether is how many counts of offers share a piece of memory, which stays
// while one of them holds.
const offersTogether = 64

// offerOf is what a launcher has to give. It appends to free what is its Free.
func (c *Core) offerOf(l *launcher, free []scheduler.SlotCount) (scheduler.Offer, []scheduler.SlotCount) {
	o := scheduler.Offer{Launcher: l.id}
	if !l.draining && !l.blamed {
		start := len(free)
		for _, f := range l.free {
			if f.Count > 0 {
				free = append(free, f)
			}
		}
		if len(free) > start {
			o.Free = free[start:len(free):len(free)]
		}
		o.Memory = l.memoryFree
	}
	if l.suspended > 0 {
		for _, a := range l.attempts { // sums: in any order
			if a.phase == attemptSuspended && !a.holds {
				o.Suspended++
				o.Held += a.memory
			}
		}
	}
	for _, h := range l.holds {
		memory := h.memory
		for _, s := range h.slots {
			if s.Count > 0 || memory > 0 {
				o.Reserved = addReservation(o.Reserved, scheduler.Reservation{Job: h.claim.job, Bundle: h.claim.bundle, Kind: s.Kind, Slots: s.Count, Memory: memory})
				memory = 0 // counted once, on the first kind
			}
		}
	}
	return o, free
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
	return a.Memory == b.Memory && a.Suspended == b.Suspended && a.Held == b.Held &&
		slices.Equal(a.Free, b.Free) && slices.Equal(a.Reserved, b.Reserved)
}

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

// roundWanted says whether there is something to tell the policy.
func (c *Core) roundWanted() bool {
	g := c.policy.current
	return len(g.events) > 0 || len(c.changedOffers) > 0 || g.fresh
}

// startRound returns a round for the policy, if there is one that is not thinking, enough
// time has passed, and there is something to tell; else nil.
func (c *Core) startRound() *AskPolicy {
	p := &c.policy
	g := p.current
	if g == nil || p.inFlight || c.now < p.lastRound.Add(c.set.RoundGap) {
		return nil
	}
	if g.wakeAt != 0 && c.now >= g.wakeAt {
		g.wakeAt = 0
		c.tell(g, scheduler.TimePassed{At: c.now})
	}
	if !c.roundWanted() {
		return nil
	}
	offers := c.offers(g)
	if len(g.events) == 0 && len(offers) == 0 && !g.fresh {
		return nil // what changed came back to what it was
	}
	p.rounds++
	p.asked, p.askedAt, p.lastRound, p.inFlight = p.rounds, c.now, c.now, true
	r := &scheduler.Round{Number: p.rounds, Now: c.now, Events: g.events, Offers: offers}
	g.events, g.notes, g.fresh = make([]scheduler.Event, 0, min(len(g.events), usualMax)), 0, false
	c.stats.Rounds++
	return &AskPolicy{Generation: g.number, Round: r}
}

// offers lists the offers that changed since the last round, or all of them for a
// generation that was told none.
func (c *Core) offers(g *generation) []scheduler.Offer {
	ids := c.changedOffers
	if g.fresh {
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
		if g.fresh || !sameOffer(o, l.told) {
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
			if s.Count > 0 {
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

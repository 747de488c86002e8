package resources

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Offers tracks changes for the policy: the launchers whose offers may have changed since they were
// sent, and whether capacity or the set of launchers did.
type Offers struct {
	launchers       *Launchers
	changed         []scheduler.LauncherID // their offers are checked in the next round
	capacityFreed   bool
	topologyChanged bool
	changesEnabled  bool                   // dirty is kept
	dirty           []scheduler.LauncherID // changed since DrainDirty
}

// TakeCapacityFreed returns whether capacity was freed since the last call.
func (of *Offers) TakeCapacityFreed() bool {
	was := of.capacityFreed
	of.capacityFreed = false
	return was
}

// TakeTopologyChanged reports whether launchers joined, were lost, or became usable or unusable
// since the last call.
func (of *Offers) TakeTopologyChanged() bool {
	was := of.topologyChanged
	of.topologyChanged = false
	return was
}

// MarkCapacityFreed makes the next TakeCapacityFreed return true: a new policy may use the existing
// capacity better.
func (of *Offers) MarkCapacityFreed() { of.capacityFreed = true }

// MarkChanged makes the next round check a launcher's offer, whose room changed.
func (of *Offers) MarkChanged(l *Launcher) {
	l.roomChanged = true
	of.markPlanned(l)
}

// MarkAhead makes the next round check a launcher's offer, whose room to launch ahead may have
// changed.
func (of *Offers) MarkAhead(l *Launcher) { of.markPlanned(l) }

// MarkAheadOf is MarkAhead for the launchers that were last offered with room for a job's stages.
func (of *Offers) MarkAheadOf(job scheduler.JobID) {
	for _, id := range of.launchers.index.IDs() {
		l := of.launchers.index.Get(id)
		if slices.ContainsFunc(l.lastOffer.Ahead, func(x scheduler.AheadRoom) bool { return x.Job == job }) {
			of.MarkAhead(l)
		}
	}
}

// markPlanned makes the next round check a launcher's offer, of which the policy reserved another
// part.
func (of *Offers) markPlanned(l *Launcher) {
	of.MarkDirty(l)
	if !l.offerChanged && l.Up {
		l.offerChanged = true
		of.changed = append(of.changed, l.ID)
	}
}

// EnableChanges makes DrainDirty list launchers from now on. No decision depends on it.
func (of *Offers) EnableChanges() { of.changesEnabled = true }

// MarkDirty makes DrainDirty list a launcher.
func (of *Offers) MarkDirty(l *Launcher) {
	if of.changesEnabled && !l.dirty {
		l.dirty = true
		of.dirty = append(of.dirty, l.ID)
	}
}

// DrainDirty lists the launchers that changed in any way since the last call, in no order. The
// list is valid until the next MarkDirty. Some of these launchers may already be forgotten.
func (of *Offers) DrainDirty() []scheduler.LauncherID {
	list := of.dirty
	for _, id := range list {
		if l := of.launchers.index.Get(id); l != nil {
			l.dirty = false
		}
	}
	of.dirty = of.dirty[:0]
	return list
}

// AnyChanged reports whether some offer may have changed.
func (of *Offers) AnyChanged() bool { return len(of.changed) > 0 }

// Send lists the offers that changed since they were last sent, or all of them, and marks them
// as sent now. ahead returns what may be launched ahead on a launcher; nil: nothing.
func (of *Offers) Send(now scheduler.Time, all bool, ahead func(*Launcher) []scheduler.AheadRoom) []scheduler.Offer {
	ids := of.changed
	if all {
		ids = of.launchers.index.IDs()
	} else {
		slices.Sort(ids)
		ids = slices.Compact(ids) // a launcher that left and rejoined is listed twice
	}
	list := make([]scheduler.Offer, 0, len(ids))
	var free []scheduler.SlotCount // shared memory for several lists of counts
	for i, id := range ids {
		l := of.launchers.index.Get(id)
		if l == nil || !l.Up {
			continue
		}
		l.offerChanged = false
		if all || l.roomChanged {
			l.roomChanged, l.roomSince = false, now
		}
		if cap(free)-len(free) < len(l.free) {
			free = make([]scheduler.SlotCount, 0, len(l.free)*min(len(ids)-i, offersTogether))
		}
		var o scheduler.Offer
		o, free = l.offer(free)
		if ahead != nil {
			o.Ahead = ahead(l)
		}
		if all || !sameOffer(o, l.lastOffer) {
			list = append(list, o)
			l.lastOffer = o
		}
	}
	of.changed = of.changed[:0]
	return list
}

// offersTogether is the number of offers whose counts share an allocation, which lives as long as
// one of them.
const offersTogether = 64

// Offer returns a launcher's current offer.
func (l *Launcher) Offer() scheduler.Offer {
	o, _ := l.offer(nil)
	return o
}

// offer is Offer. It appends its Free to free.
func (l *Launcher) offer(free []scheduler.SlotCount) (scheduler.Offer, []scheduler.SlotCount) {
	o := scheduler.Offer{Launcher: l.ID, Suspended: l.suspended, Held: l.suspendedMemory, Swap: l.FreeSwap()}
	switch {
	case l.Usable():
		o.Free, free = l.offered(free)
		o.Memory, o.Resources = l.freeMemory, l.freeResources
	case l.suspended > 0: // it may be resumed
		o.ForResume, free = l.offered(free)
		o.ForResumeMemory, o.ForResumeResources = l.freeMemory, l.freeResources
	}
	for _, p := range l.parts {
		memory, resources := p.memory, p.resources
		for _, s := range p.slots {
			if s.Count > 0 || memory > 0 || !resources.IsZero() {
				o.Reserved = addReservation(o.Reserved, scheduler.Reservation{Job: p.of.Job, Bundle: p.of.Bundle, Kind: s.Kind, Slots: s.Count, Memory: memory, Resources: resources})
				memory, resources = 0, scheduler.Resources{} // counted once, on the first kind
			}
		}
	}
	return o, free
}

// offered appends the kinds with free slots to free, and returns that part and the longer list.
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
			x.Resources = x.Resources.Plus(r.Resources)
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
		a.ForResumeMemory == b.ForResumeMemory && a.Resources == b.Resources && a.ForResumeResources == b.ForResumeResources && slices.Equal(a.Free, b.Free) && slices.Equal(a.ForResume, b.ForResume) && slices.Equal(a.Reserved, b.Reserved) && slices.Equal(a.Ahead, b.Ahead)
}

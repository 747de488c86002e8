package resources

import (
	"slices"

	"github.com/hamadryad/hamadryad/internal/idmap"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Resources are the resources of all launchers, with their allocations. Not safe for concurrent
// use, like its parts.
type Resources struct {
	Launchers    Launchers
	Offers       Offers
	Reservations Reservations
	Exclusions   Exclusions
}

// New returns the resources of no launchers.
func New() *Resources {
	c := &Resources{}
	c.Offers.launchers = &c.Launchers
	c.Reservations.launchers, c.Reservations.offers = &c.Launchers, &c.Offers
	c.Exclusions = Exclusions{&c.Launchers, &c.Offers, &c.Reservations}
	return c
}

// Launchers are the launchers that are up, and lost ones that are remembered.
type Launchers struct {
	index idmap.Index[scheduler.LauncherID, Launcher]
	up    int // number of launchers that are up
	moves uint64
}

// Add adds a launcher that is not up. Its address in memory must not change.
func (ls *Launchers) Add(l *Launcher) { ls.index.Add(l.ID, l) }

// Forget removes a launcher that is not up.
func (ls *Launchers) Forget(l *Launcher) { ls.index.Remove(l.ID) }

// Up returns how many launchers are up.
func (ls *Launchers) Up() int { return ls.up }

// Moves counts joins and losses of launchers. A place computed before a move may be stale.
func (ls *Launchers) Moves() uint64 { return ls.moves }

// Joining is a launcher's description of itself at its join. Memory and swap are in bytes.
type Joining struct {
	Host, Rack   string
	CanSuspend   bool
	Slots        Slots
	Memory, Swap int64
	// Resources are countable resources; SuspensionFrees are the kinds of them that suspension
	// frees, in order.
	Resources       scheduler.Resources
	SuspensionFrees []scheduler.ResourceKind
}

// Join brings a launcher up with all its slots, memory, swap and resources free.
func (c *Resources) Join(l *Launcher, now scheduler.Time, j Joining) {
	l.Up, l.Joined = true, now
	l.Host, l.Rack, l.CanSuspend = j.Host, j.Rack, j.CanSuspend
	l.slots, l.memory, l.swap = j.Slots, j.Memory, j.Swap
	l.free, l.freeMemory = slices.Clone(j.Slots), j.Memory
	l.resources, l.freeResources, l.suspensionFrees = j.Resources, j.Resources, j.SuspensionFrees
	l.Excluded, l.excludedBy, l.excludedUntil, l.load = false, nil, 0, Load{}
	l.suspended, l.suspendedMemory = 0, 0
	l.lastOffer = scheduler.Offer{Launcher: l.ID}
	c.Launchers.up++
	c.Launchers.moves++
	c.Offers.topologyChanged, c.Offers.capacityFreed = true, true
	c.Offers.MarkChanged(l)
}

// Lose takes a launcher down. The owner of its allocations releases them afterwards.
func (c *Resources) Lose(l *Launcher) {
	c.Reservations.releaseOn(l)
	c.Offers.MarkDirty(l)
	l.Up, l.offerChanged, l.load = false, false, Load{}
	l.free, l.freeMemory, l.freeResources = nil, 0, scheduler.Resources{}
	c.Launchers.up--
	c.Launchers.moves++
	c.Offers.topologyChanged = true
}

// Drain starts or ends a drain: running work continues, nothing new starts.
func (c *Resources) Drain(l *Launcher, drain bool) {
	l.Draining = drain
	c.Offers.MarkDirty(l)
	if !l.Up {
		return
	}
	c.Reservations.releaseOn(l)
	c.Offers.MarkChanged(l)
	c.Offers.topologyChanged = true
}

// Closed returns the number of launchers that are up and take no new work: they drain, or are
// excluded.
func (ls *Launchers) Closed() (n int) {
	for _, id := range ls.index.IDs() {
		if l := ls.index.Get(id); l.Up && !l.Usable() {
			n++
		}
	}
	return n
}

// Count returns the free slots of a kind on usable launchers, and the total.
func (ls *Launchers) Count(kind string) (free, total int) {
	for _, id := range ls.index.IDs() {
		if l := ls.index.Get(id); l.Up {
			total += l.slots.Of(kind)
			if l.Usable() {
				free += l.free.Of(kind)
			}
		}
	}
	return free, total
}

// Most returns the largest number of slots of a kind on one launcher that is up.
func (ls *Launchers) Most(kind string) (n int) {
	for _, id := range ls.index.IDs() {
		if l := ls.index.Get(id); l.Up {
			n = max(n, l.slots.Of(kind))
		}
	}
	return n
}

// Clone returns an independent copy. of returns its launchers.
func (c *Resources) Clone(of func(scheduler.LauncherID) *Launcher) *Resources {
	f := New()
	f.Launchers = c.Launchers
	f.Launchers.index = c.Launchers.index.Clone(func(l *Launcher) *Launcher { return of(l.ID) })
	f.Offers.changed = slices.Clone(c.Offers.changed)
	f.Offers.capacityFreed, f.Offers.topologyChanged = c.Offers.capacityFreed, c.Offers.topologyChanged
	for _, id := range c.Reservations.index.IDs() {
		r := c.Reservations.index.Get(id)
		x := *r
		x.parts = make([]*part, len(r.parts))
		for i, p := range r.parts {
			x.parts[i] = &part{on: of(p.on.ID), of: &x, slots: slices.Clone(p.slots), memory: p.memory, resources: p.resources}
			if k := p.lacks; k != nil {
				x.parts[i].lacks = &lack{slices.Clone(k.slots), k.memory, k.resources}
			}
		}
		if x.IsPlanned() {
			f.Reservations.keepPlanned(&x)
		}
		f.Reservations.add(&x)
	}
	f.Reservations.planned.owner = c.Reservations.planned.owner
	return f
}

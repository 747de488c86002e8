package resources

import (
	"slices"

	"github.com/hamadryad/hamadryad/internal/idmap"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Resources are those of all launchers. The zero value has none. Not safe for concurrent use.
type Resources struct {
	launchers       idmap.Index[scheduler.LauncherID, Launcher] // up and lost
	up              int                                         // launchers that are up
	moves           uint64
	reservations    idmap.Index[uint64, Reservation]
	offersChanged   []scheduler.LauncherID // whose offer is to be looked at in the next round
	capacityFreed   bool                   // something got free
	topologyChanged bool                   // launchers came or went
	changesEnabled  bool                   // touched is kept
	dirty           []scheduler.LauncherID // that changed since DrainDirty
}

// Add adds a launcher that is not up. It must stay where it is in memory.
func (c *Resources) Add(l *Launcher) { c.launchers.Add(l.ID, l) }

// Forget removes a launcher that is not up.
func (c *Resources) Forget(l *Launcher) { c.launchers.Remove(l.ID) }

// Up returns how many launchers are up.
func (c *Resources) Up() int { return c.up }

// Moves returns how often a launcher came or went. A place that was found before may be stale
// after a move.
func (c *Resources) Moves() uint64 { return c.moves }

// TakeCapacityFreed returns whether capacity was freed since the last call.
func (c *Resources) TakeCapacityFreed() bool {
	was := c.capacityFreed
	c.capacityFreed = false
	return was
}

// TakeTopologyChanged returns whether launchers came, went, or became usable or unusable since the
// last call.
func (c *Resources) TakeTopologyChanged() bool {
	was := c.topologyChanged
	c.topologyChanged = false
	return was
}

// MarkCapacityFreed has the next TakeCapacityFreed return true: a new policy may do more with the
// capacity there is.
func (c *Resources) MarkCapacityFreed() { c.capacityFreed = true }

// Joining is what a launcher says of itself when it joins. Memory and swap are in bytes.
type Joining struct {
	Host, Rack   string
	CanSuspend   bool
	Slots        Slots
	Memory, Swap int64
}

// Join brings a launcher up with all its slots, memory and swap free.
func (c *Resources) Join(l *Launcher, now scheduler.Time, j Joining) {
	l.Up, l.Joined = true, now
	l.Host, l.Rack, l.CanSuspend = j.Host, j.Rack, j.CanSuspend
	l.slots, l.memory, l.swap = j.Slots, j.Memory, j.Swap
	l.free, l.freeMemory = slices.Clone(j.Slots), j.Memory
	l.Excluded, l.excludedBy, l.excludedUntil, l.load = false, nil, 0, Load{}
	l.suspended, l.suspendedMemory = 0, 0
	l.lastOffer = scheduler.Offer{Launcher: l.ID}
	c.up++
	c.moves++
	c.topologyChanged, c.capacityFreed = true, true
	c.OfferChanged(l)
}

// Lose takes a launcher down. The owner of its allocations releases them afterwards.
func (c *Resources) Lose(l *Launcher) {
	c.releaseOn(l)
	c.MarkDirty(l)
	l.Up, l.offerChanged, l.load = false, false, Load{}
	l.free, l.freeMemory = nil, 0
	c.up--
	c.moves++
	c.topologyChanged = true
}

// Drain starts or ends a drain: what runs there goes on, nothing new starts.
func (c *Resources) Drain(l *Launcher, drain bool) {
	l.Draining = drain
	c.MarkDirty(l)
	if !l.Up {
		return
	}
	c.releaseOn(l)
	c.OfferChanged(l)
	c.topologyChanged = true
}

// Closed returns how many launchers are up and take no new work: they drain, or are excluded.
func (c *Resources) Closed() (n int) {
	for _, id := range c.launchers.IDs() {
		if l := c.launchers.Get(id); l.Up && !l.Usable() {
			n++
		}
	}
	return n
}

// Count returns how many slots of a kind are free on launchers that may be used, and how
// many there are in all.
func (c *Resources) Count(kind string) (free, total int) {
	for _, id := range c.launchers.IDs() {
		if l := c.launchers.Get(id); l.Up {
			total += l.slots.Of(kind)
			if l.Usable() {
				free += l.free.Of(kind)
			}
		}
	}
	return free, total
}

// Most returns the largest number of slots of a kind that one launcher has, of those that are up.
func (c *Resources) Most(kind string) (n int) {
	for _, id := range c.launchers.IDs() {
		if l := c.launchers.Get(id); l.Up {
			n = max(n, l.slots.Of(kind))
		}
	}
	return n
}

// Clone returns a copy that stays as it is while the resources change. Its launchers are those
// that of returns.
func (c *Resources) Clone(of func(scheduler.LauncherID) *Launcher) Resources {
	f := *c
	f.offersChanged = slices.Clone(c.offersChanged)
	f.launchers = c.launchers.Clone(func(l *Launcher) *Launcher { return of(l.ID) })
	f.reservations = c.reservations.Clone(func(r *Reservation) *Reservation {
		x := *r
		x.parts = make([]*part, len(r.parts))
		for i, p := range r.parts {
			x.parts[i] = &part{on: of(p.on.ID), of: &x, slots: slices.Clone(p.slots), memory: p.memory}
		}
		return &x
	})
	return f
}

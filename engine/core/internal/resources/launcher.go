package resources

import (
	"slices"
	"unsafe"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Launcher is a launcher's resources. It is up, or it was lost and keeps its id for its name.
// state.Launcher embeds it.
type Launcher struct {
	// Fields used by every launch and end lie together, up to Hot.
	ID              scheduler.LauncherID
	Up              bool
	Draining        bool
	Excluded        bool // the site excludes it for a while
	offerChanged    bool // since it was sent
	dirty           bool // in Offers.dirty
	Name            string
	Host, Rack      string
	free            Slots // neither allocated nor reserved; kinds without free slots may be listed
	freeMemory      int64
	parts           []*part // of reservations, in their order
	suspended       int     // allocations without slots
	suspendedMemory int64   // of those, in swap and in memory
	swap            int64   // total, for that
	freeResources   scheduler.Resources
	lastOffer       scheduler.Offer // the last one sent to the policy
	roomChanged     bool            // other than by Reserve, since roomSince
	roomSince       scheduler.Time  // see RoomSince

	CanSuspend bool
	Joined     scheduler.Time
	slots      Slots // total
	memory     int64
	resources  scheduler.Resources // total
	// suspensionFrees are the kinds of resources that suspension of an attempt frees, in order.
	suspensionFrees []scheduler.ResourceKind
	excludedBy      []Vote // of jobs that exclude it, in order of job
	excludedUntil   scheduler.Time
	load            Load
}

// Hot is how many bytes of a Launcher every launch and end touches.
const Hot = unsafe.Offsetof(Launcher{}.CanSuspend)

// Slots returns all slots, not to be changed.
func (l *Launcher) Slots() Slots { return l.slots }

// Memory returns all memory in bytes.
func (l *Launcher) Memory() int64 { return l.memory }

// Free returns the slots that are neither allocated nor reserved. The caller must not change them.
func (l *Launcher) Free() Slots { return l.free }

// Startable returns the free slots of a usable launcher, which the caller may keep; none of a
// launcher that drains, is excluded or is lost. Every view calls these slots free.
func (l *Launcher) Startable() Slots {
	if !l.Usable() {
		return nil
	}
	return slices.Clone(l.free)
}

// Swap returns the swap for the memory of suspended attempts, in bytes.
func (l *Launcher) Swap() int64 { return l.swap }

// FreeSwap returns the free part of it, in bytes.
func (l *Launcher) FreeSwap() int64 { return l.swap - l.inSwap(l.suspendedMemory) }

// inSwap is the part of the suspended attempts' memory that does not count in memory.
func (l *Launcher) inSwap(parked int64) int64 { return scheduler.InSwap(parked, l.swap) }

// SuspendedMemory returns the number of allocations without slots, and their memory in bytes.
func (l *Launcher) SuspendedMemory() (n int, memory int64) { return l.suspended, l.suspendedMemory }

// FreeMemory returns the memory that is neither allocated nor reserved, in bytes.
func (l *Launcher) FreeMemory() int64 { return l.freeMemory }

// Countable returns all countable resources.
func (l *Launcher) Countable() scheduler.Resources { return l.resources }

// FreeCountable returns the countable resources that are neither allocated nor reserved.
func (l *Launcher) FreeCountable() scheduler.Resources { return l.freeResources }

// LastOffer returns the last offer sent to the policy.
func (l *Launcher) LastOffer() scheduler.Offer { return l.lastOffer }

// OfferMarked reports whether the next round checks the launcher's offer.
func (l *Launcher) OfferMarked() bool { return l.offerChanged }

// RoomSince returns since when the policy has known the launcher's present room. What the policy
// reserves of it for other work does not count as a change.
func (l *Launcher) RoomSince() scheduler.Time { return l.roomSince }

// Awaited reports whether something is reserved on the launcher, or suspended there: both come
// before what is launched ahead.
func (l *Launcher) Awaited() bool { return len(l.parts) > 0 || l.suspended > 0 }

// Usable reports whether work may start there.
func (l *Launcher) Usable() bool { return l.Up && !l.Draining && !l.Excluded }

// JoinedEvent returns the event that the launcher joined.
func (l *Launcher) JoinedEvent() scheduler.LauncherJoined {
	return scheduler.LauncherJoined{
		At: l.Joined, Launcher: l.ID, Name: l.Name, Host: l.Host, Rack: l.Rack, Slots: slices.Clone(l.slots), Memory: l.memory, Swap: l.swap,
		Resources: l.resources, SuspensionFrees: slices.Clone(l.suspensionFrees), NoSuspend: !l.CanSuspend,
	}
}

// Clone returns an independent copy, without reservations: Resources.Clone clones those.
func (l *Launcher) Clone() Launcher {
	f := *l
	f.free, f.slots, f.excludedBy = slices.Clone(l.free), slices.Clone(l.slots), slices.Clone(l.excludedBy)
	f.lastOffer.Free, f.lastOffer.ForResume, f.lastOffer.Reserved = slices.Clone(l.lastOffer.Free), slices.Clone(l.lastOffer.ForResume), slices.Clone(l.lastOffer.Reserved)
	f.parts = nil
	return f
}

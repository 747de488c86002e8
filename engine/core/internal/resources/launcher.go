package resources

import (
	"slices"
	"unsafe"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Launcher is what a launcher has to give. It is up, or it was lost and
// keeps its id for its name. state.Launcher embeds it.
type Launcher struct {
	// What every launch and end touches lies together, up to Hot.
	ID              scheduler.LauncherID
	Up              bool
	Draining        bool
	Excluded        bool // the site avoids it for a while
	offerChanged    bool // since it was sent
	dirty           bool // in Offers.dirty
	Name            string
	Host, Rack      string
	free            Slots // neither held nor reserved; kinds with none may be listed
	freeMemory      int64
	parts           []*part         // of reservations, in order of those
	suspended       int             // allocations that gave back their slots
	suspendedMemory int64           // that those hold, in swap and in memory
	swap            int64           // for that, in all
	lastOffer       scheduler.Offer // that the policy was sent last

	CanSuspend    bool
	Joined        scheduler.Time
	slots         Slots // in all
	memory        int64
	excludedBy    []Vote // of jobs that avoid it, in order of job
	excludedUntil scheduler.Time
	load          Load
}

// Hot is how many bytes of a Launcher every launch and end touches.
const Hot = unsafe.Offsetof(Launcher{}.CanSuspend)

// Slots returns all slots, not to be changed.
func (l *Launcher) Slots() Slots { return l.slots }

// Memory returns all memory in bytes.
func (l *Launcher) Memory() int64 { return l.memory }

// Free returns the slots that are neither held nor reserved, not to be changed.
func (l *Launcher) Free() Slots { return l.free }

// Startable returns the free slots of a launcher that may be used, to be kept by the caller;
// none of one that drains, is excluded or is lost. It is what all that is shown calls free.
func (l *Launcher) Startable() Slots {
	if !l.Usable() {
		return nil
	}
	return slices.Clone(l.free)
}

// Swap returns for how much memory of what is suspended there is room elsewhere, in
// bytes.
func (l *Launcher) Swap() int64 { return l.swap }

// FreeSwap returns how much of that is free, in bytes.
func (l *Launcher) FreeSwap() int64 { return l.swap - l.inSwap(l.suspendedMemory) }

// inSwap is how much of the memory of what is suspended does not count in memory.
func (l *Launcher) inSwap(parked int64) int64 { return scheduler.InSwap(parked, l.swap) }

// SuspendedMemory returns how many allocations gave back their slots, and the bytes that those hold.
func (l *Launcher) SuspendedMemory() (n int, memory int64) { return l.suspended, l.suspendedMemory }

// FreeMemory returns the memory that is neither held nor reserved, in bytes.
func (l *Launcher) FreeMemory() int64 { return l.freeMemory }

// LastOffer returns the offer that the policy was sent last.
func (l *Launcher) LastOffer() scheduler.Offer { return l.lastOffer }

// Usable says whether something may start there.
func (l *Launcher) Usable() bool { return l.Up && !l.Draining && !l.Excluded }

// JoinedEvent is the event that a launcher joined.
func (l *Launcher) JoinedEvent() scheduler.LauncherJoined {
	return scheduler.LauncherJoined{At: l.Joined, Launcher: l.ID, Name: l.Name, Host: l.Host, Rack: l.Rack, Slots: slices.Clone(l.slots), Memory: l.memory, Swap: l.swap}
}

// Clone returns a copy that stays while the launcher changes. It has nothing reserved:
// Resources.Clone clones reservations.
func (l *Launcher) Clone() Launcher {
	f := *l
	f.free, f.slots, f.excludedBy = slices.Clone(l.free), slices.Clone(l.slots), slices.Clone(l.excludedBy)
	f.lastOffer.Free, f.lastOffer.ForResume, f.lastOffer.Reserved = slices.Clone(l.lastOffer.Free), slices.Clone(l.lastOffer.ForResume), slices.Clone(l.lastOffer.Reserved)
	f.parts = nil
	return f
}

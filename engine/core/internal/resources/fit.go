package resources

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Freed is the resources that victims would free, by launcher.
type Freed map[scheduler.LauncherID]*room

// Add adds the allocation of a suspended or stopped attempt.
func (f Freed) Add(l *Launcher, h *Allocation, suspend bool) {
	if h.Empty {
		return
	}
	x := f[l.ID]
	if x == nil {
		x = &room{}
		f[l.ID] = x
	}
	if h.HasSlots {
		x.slots.Add(h.Kind, h.Slots)
	} else {
		x.suspended -= h.Memory
	}
	freed := h.Resources.FreedBySuspension(l.suspensionFrees)
	switch {
	case suspend:
		x.suspended += h.Memory
		x.resources = x.resources.Plus(freed)
	case h.HasSlots:
		x.memory += h.Memory
		x.resources = x.resources.Plus(h.Resources)
	default:
		x.memory += h.Memory
		x.resources = x.resources.Plus(l.keptSuspended(h))
	}
}

// room is the resources of a launcher for a bundle.
type room struct {
	slots     Slots
	memory    int64
	suspended int64 // memory of the suspended attempts; in Freed, the increase
	resources scheduler.Resources
}

// add adds freed resources.
func (r *room) add(l *Launcher, f *room) {
	if f == nil {
		return
	}
	r.slots.addAll(f.slots)
	r.memory += f.memory + l.inSwap(r.suspended+f.suspended) - l.inSwap(r.suspended)
	r.suspended += f.suspended
	r.resources = r.resources.Plus(f.resources)
}

func (r *room) take(d Request) bool {
	if r.slots.Of(d.Kind) < d.Slots || r.memory < d.Memory || !r.resources.Covers(d.Resources) {
		return false
	}
	r.slots.Add(d.Kind, -d.Slots)
	r.memory -= d.Memory
	r.resources = r.resources.Minus(d.Resources)
	return true
}

// has reports whether a launcher has a request's resources free.
func (l *Launcher) has(d Request) bool {
	return l.free.Of(d.Kind) >= d.Slots && l.freeMemory >= d.Memory && l.freeResources.Covers(d.Resources)
}

// Fits reports whether a bundle would have room in free, reserved and freed resources, on the
// launchers named, or on any usable one, tried widest group first. The greedy search may miss a fit
// of a gang of unequal groups; naming launchers never does.
func (ls *Launchers) Fits(b Bundle, where []*Launcher, freed Freed, usable func(*Launcher) bool) bool {
	rooms := map[scheduler.LauncherID]*room{}
	roomOf := func(l *Launcher) *room {
		if r := rooms[l.ID]; r != nil {
			return r
		}
		own := l.reservedFor(b)
		r := &room{slots: slices.Clone(l.free), memory: l.freeMemory + own.memory(), suspended: l.suspendedMemory, resources: l.freeResources.Plus(own.resources())}
		for _, p := range own {
			r.slots.addAll(p.slots)
		}
		r.add(l, freed[l.ID])
		rooms[l.ID] = r
		return r
	}
	if where == nil {
		return ls.place(b, func(l *Launcher, d Request) bool {
			if rooms[l.ID] == nil && freed[l.ID] == nil && len(l.parts) == 0 && !l.has(d) {
				return false // most are full: this saves the setup
			}
			return usable(l) && roomOf(l).take(d)
		})
	}
	for i, l := range where {
		if !usable(l) || !roomOf(l).take(b.Request(i)) {
			return false
		}
	}
	return true
}

// FitsForResume reports whether a bundle's allocations without slots would get slots, and memory
// for their swapped part, from what is free, reserved for that bundle alone and freed.
func (ls *Launchers) FitsForResume(b scheduler.BundleID, list []AllocationOn, freed Freed) bool {
	rooms := map[scheduler.LauncherID]*room{}
	for _, h := range list {
		r := rooms[h.On.ID]
		if r == nil {
			own := h.On.reservedForAlone(b)
			r = &room{
				slots: slices.Clone(h.On.free), memory: h.On.freeMemory + own.memory(), suspended: h.On.suspendedMemory,
				resources: h.On.freeResources.Plus(own.resources()),
			}
			for _, p := range own {
				r.slots.addAll(p.slots)
			}
			r.add(h.On, freed[h.On.ID])
			rooms[h.On.ID] = r
		}
		if !r.take(Request{Kind: h.Kind, Slots: h.Slots, Memory: h.On.neededToResume(r.suspended, h.Memory), Resources: h.Resources.FreedBySuspension(h.On.suspensionFrees)}) {
			return false
		}
		r.suspended -= h.Memory
	}
	return true
}

// FitsEmpty reports whether a bundle would have room on the usable launchers, if they were empty.
func (ls *Launchers) FitsEmpty(b Bundle, usable func(*Launcher) bool) bool {
	rooms := map[scheduler.LauncherID]*room{}
	return ls.place(b, func(l *Launcher, d Request) bool {
		if !usable(l) {
			return false
		}
		if rooms[l.ID] == nil {
			rooms[l.ID] = l.emptyRoom()
		}
		return rooms[l.ID].take(d)
	})
}

// emptyRoom returns the room of a launcher on which nothing runs.
func (l *Launcher) emptyRoom() *room {
	return &room{slots: slices.Clone(l.slots), memory: l.memory, resources: l.resources}
}

// place tries a launcher for each group of a bundle, the widest group first. take takes a
// launcher's room.
func (ls *Launchers) place(b Bundle, take func(*Launcher, Request) bool) bool {
	order := make([]int, b.Width())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		dx, dy := b.Request(x), b.Request(y)
		return cmp.Or(dy.Slots-dx.Slots, cmp.Compare(dy.Memory, dx.Memory))
	})
	for _, i := range order {
		d := b.Request(i)
		found := slices.ContainsFunc(ls.index.IDs(), func(id scheduler.LauncherID) bool {
			return take(ls.index.Get(id), d)
		})
		if !found {
			return false
		}
	}
	return true
}

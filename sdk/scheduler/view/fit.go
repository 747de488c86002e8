package view

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Fit finds a launcher for each group of a bundle and takes what they need, or
// takes nothing and returns false. For each group it prefers a launcher that
// holds input of it, then one in such a rack, then one with slots reserved for
// the bundle or its job, then any; among equals the one with most free slots of the kind, then
// the lowest id. Groups that need most are placed first. It does not try every
// arrangement: a gang that only fits in one contrived way may be missed.
func (v *View) Fit(b *Bundle) ([]scheduler.LauncherID, bool) {
	if len(b.Groups) == 1 {
		l := v.pick(b, &b.Groups[0])
		if l == nil {
			return nil, false
		}
		v.take(l, b.Job.ID(), b.ID, &b.Groups[0])
		return []scheduler.LauncherID{l.ID}, true
	}
	order := hardestFirst(b.Groups)
	if where, ok := v.fitGang(b, order, v.pick); ok {
		return where, true
	}
	return v.fitGang(b, order, v.tightest)
}

// FitNear is Fit for a single-group bundle, limited to launchers that are at
// least as near to its input as level.
func (v *View) FitNear(b *Bundle, level scheduler.Locality) ([]scheduler.LauncherID, bool) {
	if len(b.Groups) != 1 {
		return nil, false
	}
	l := v.pickNear(b, &b.Groups[0], level)
	if l == nil {
		return nil, false
	}
	v.take(l, b.Job.ID(), b.ID, &b.Groups[0])
	return []scheduler.LauncherID{l.ID}, true
}

// FitAnywhere is Fit with no eye for locality.
func (v *View) FitAnywhere(b *Bundle) ([]scheduler.LauncherID, bool) {
	return v.fitGang(b, hardestFirst(b.Groups), func(b *Bundle, g *scheduler.Group) *Launcher {
		bare := *g
		bare.Places = nil
		return v.pick(b, &bare)
	})
}

// FitOn is Fit for a single-group bundle on one launcher.
func (v *View) FitOn(l *Launcher, b *Bundle) ([]scheduler.LauncherID, bool) {
	if len(b.Groups) != 1 || b.avoids(l) || !v.TakeFor(l, b, &b.Groups[0]) {
		return nil, false
	}
	return []scheduler.LauncherID{l.ID}, true
}

// FitEver says whether the bundle would fit if nothing at all ran on the
// launchers that are not draining, nor among the given ones (in order of id), which
// count as they are.
func (v *View) FitEver(b *Bundle, asTheyAre ...scheduler.LauncherID) bool {
	mark := v.Mark()
	defer v.Undo(mark)
	for _, l := range v.list {
		if _, is := slices.BinarySearch(asTheyAre, l.ID); is || l.Draining {
			continue
		}
		for _, s := range l.Slots {
			free, memory := v.Room(l, 0, s.Kind)
			v.Give(l, s.Kind, s.Count-free, l.Memory-memory)
		}
	}
	_, ok := v.Fit(b)
	return ok
}

// Unfit is why a bundle waits that may go anywhere and for which a Fit found no
// place: it needs several, or launchers are excluded for it, or there is no room.
func (b *Bundle) Unfit() scheduler.WaitReason {
	switch {
	case len(b.Groups) > 1:
		return scheduler.WaitGang
	case len(b.Avoid) > 0:
		return scheduler.WaitExcluded
	}
	return scheduler.WaitNoCapacity
}

func hardestFirst(groups []scheduler.Group) []int {
	order := make([]int, len(groups))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(groups[j].Memory, groups[i].Memory), cmp.Compare(groups[j].Slots, groups[i].Slots))
	})
	return order
}

func (v *View) fitGang(b *Bundle, order []int, pick func(*Bundle, *scheduler.Group) *Launcher) ([]scheduler.LauncherID, bool) {
	mark := v.Mark()
	where := make([]scheduler.LauncherID, len(b.Groups))
	for _, i := range order {
		l := pick(b, &b.Groups[i])
		if l == nil {
			v.Undo(mark)
			return nil, false
		}
		v.take(l, b.Job.ID(), b.ID, &b.Groups[i])
		where[i] = l.ID
	}
	return where, true
}

func (b *Bundle) avoids(l *Launcher) bool {
	return len(b.Avoid) > 0 && slices.Contains(b.Avoid, l.ID)
}

// pick chooses the launcher for a group as Fit says.
func (v *View) pick(b *Bundle, g *scheduler.Group) *Launcher {
	return v.pickNear(b, g, scheduler.Remote)
}

func (v *View) pickNear(b *Bundle, g *scheduler.Group, level scheduler.Locality) *Launcher {
	c := v.fresh()
	kind := &c.kinds[c.kind(g.Kind)]
	reserved := c.reserved[b.Job.ID()]
	if len(reserved) == 0 && (kind.total < g.Slots || kind.missed && g.Slots >= kind.slotsMin && g.Memory >= kind.memoryMin) {
		return nil
	}
	ok := func(l *Launcher) bool {
		slots, memory := v.RoomFor(l, b, g.Kind)
		return slots >= g.Slots && memory >= g.Memory && !b.avoids(l)
	}
	for _, p := range g.Places {
		for _, l := range c.hosts[p.Host] {
			if ok(l) {
				return l
			}
		}
	}
	if level == scheduler.NodeLocal {
		return nil
	}
	for _, p := range g.Places {
		if rack := c.racks[p.Rack]; rack != nil {
			if l := v.roomiest(kind, rack, g.Slots, ok); l != nil {
				return l
			}
		}
	}
	if level == scheduler.RackLocal {
		return nil
	}
	for _, l := range reserved {
		if ok(l) {
			return l
		}
	}
	l := v.roomiest(kind, nil, g.Slots, ok)
	if l == nil && len(reserved) == 0 && len(b.Avoid) == 0 {
		kind.miss(g)
	}
	return l
}

// miss remembers the smallest need that found no room.
func (k *kindRoom) miss(g *scheduler.Group) {
	if !k.missed || g.Slots <= k.slotsMin && g.Memory <= k.memoryMin {
		k.missed, k.slotsMin, k.memoryMin = true, g.Slots, g.Memory
	}
}

func (v *View) roomiest(k *kindRoom, within bitset, slots int, ok func(*Launcher) bool) *Launcher {
	for n := len(k.by) - 1; n >= max(slots, 1); n-- {
		if k.count[n] == 0 {
			continue
		}
		if l := v.first(k.by[n], within, ok); l != nil {
			return l
		}
	}
	return nil
}

// tightest chooses the launcher on which least memory, then fewest slots, stay
// free: the second try for a gang, with no eye for locality.
func (v *View) tightest(b *Bundle, g *scheduler.Group) *Launcher {
	var best *Launcher
	var bestSlots int
	var bestMemory int64
	for _, l := range v.list {
		slots, memory := v.RoomFor(l, b, g.Kind)
		if slots < g.Slots || memory < g.Memory || b.avoids(l) {
			continue
		}
		if best == nil || memory < bestMemory || memory == bestMemory && slots < bestSlots {
			best, bestSlots, bestMemory = l, slots, memory
		}
	}
	return best
}

// NearRoom returns the launchers, in order of id, and the racks, in order of name,
// that have a free slot of a kind and hold input of a job's launchable single-group
// bundles. It looks at the places of the job's input or at the launchers with room,
// whichever are fewer.
func (v *View) NearRoom(j *Job, kind scheduler.SlotKind) (on []*Launcher, racks []string) {
	c := v.fresh()
	number := c.kind(kind)
	k := &c.kinds[number]
	room := 0
	for _, n := range k.count {
		room += n
	}
	if room < len(j.byHost) {
		for l := range v.WithRoom(kind) {
			if x := j.byHost[l.Host]; x != nil && x.len() > 0 {
				on = append(on, l)
			}
		}
	} else if room > 0 {
		for host, x := range j.byHost {
			if x.len() == 0 {
				continue
			}
			for _, l := range c.hosts[host] {
				if number < len(l.free) && l.free[number] > 0 {
					on = append(on, l)
				}
			}
		}
		slices.SortFunc(on, func(x, y *Launcher) int { return cmp.Compare(x.ID, y.ID) })
	}
	for rack, x := range j.byRack {
		if within := c.racks[rack]; within != nil && x.len() > 0 && v.roomiest(k, within, 1, func(*Launcher) bool { return true }) != nil {
			racks = append(racks, rack)
		}
	}
	slices.Sort(racks)
	return on, racks
}

// Locality says how near a launcher is to a group's input. A group without
// located input is remote everywhere.
func Locality(l *Launcher, g *scheduler.Group) scheduler.Locality {
	near := scheduler.Remote
	for _, p := range g.Places {
		if p.Host == l.Host {
			return scheduler.NodeLocal
		}
		if p.Rack != "" && p.Rack == l.Rack {
			near = scheduler.RackLocal
		}
	}
	return near
}

// WithRoom walks, in order of id, the launchers that have a free slot of a kind,
// as it was when the walk began.
func (v *View) WithRoom(kind scheduler.SlotKind) iter.Seq[*Launcher] {
	return func(yield func(*Launcher) bool) {
		c := v.fresh()
		k := &c.kinds[c.kind(kind)]
		if k.total == 0 {
			return
		}
		union := make(bitset, (len(v.list)+63)/64)
		for n := 1; n < len(k.by); n++ {
			for w, word := range k.by[n] {
				union[w] |= word
			}
		}
		for w, word := range union {
			for ; word != 0; word &= word - 1 {
				if !yield(v.list[w*64+bits.TrailingZeros64(word)]) {
					return
				}
			}
		}
	}
}

package view

import (
	"cmp"
	"iter"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// search has the capacity, and finds places in it for bundles.
type search struct {
	// Capacity is what is free and reserved, with what the policy takes while it decides.
	Capacity Capacity
}

// Fit finds a launcher for each group of a bundle and takes what they need, or takes nothing and
// returns false. For each group it prefers a launcher that holds input of it, then one in a rack
// that does, then one with slots reserved for the bundle or its job. Among equals it takes the
// launcher with most free slots of the kind, then the lowest id. Groups that need most are placed
// first. If groups that differ do not fit that way, it searches up to searchMax arrangements. Only
// a gang of many groups on many launchers may be missed. It finds nothing for a bundle that is not
// WithinUserLimit.
func (s *search) Fit(b *Bundle) ([]scheduler.LauncherID, bool) {
	c := &s.Capacity
	if !b.WithinUserLimit() {
		return nil, false
	}
	if len(b.Groups) == 1 {
		l := c.pick(b, &b.Groups[0])
		if l == nil {
			return nil, false
		}
		c.takeGroup(l, b, &b.Groups[0])
		return []scheduler.LauncherID{l.ID}, true
	}
	return c.fitGang(b, c.pick)
}

// FitNear is Fit for a single-group bundle, limited to launchers that are at
// least as near to its input as level.
func (s *search) FitNear(b *Bundle, level scheduler.Locality) ([]scheduler.LauncherID, bool) {
	c := &s.Capacity
	if len(b.Groups) != 1 || !b.WithinUserLimit() {
		return nil, false
	}
	l := c.pickNear(b, &b.Groups[0], level)
	if l == nil {
		return nil, false
	}
	c.takeGroup(l, b, &b.Groups[0])
	return []scheduler.LauncherID{l.ID}, true
}

// FitOn is Fit for a single-group bundle on one launcher.
func (s *search) FitOn(l *Launcher, b *Bundle) ([]scheduler.LauncherID, bool) {
	c := &s.Capacity
	if len(b.Groups) != 1 || b.avoids(l) || !c.TakeFor(l, b, &b.Groups[0]) {
		return nil, false
	}
	return []scheduler.LauncherID{l.ID}, true
}

// FitReserved is Fit limited to reservations for the bundle's job: on a launcher that has one or,
// for a gang, wherever it fits with the reservations. So a job that waits for launchers near its
// input still takes the slots that were preempted for it.
func (s *search) FitReserved(b *Bundle) ([]scheduler.LauncherID, bool) {
	c := &s.Capacity
	launchers := c.reserved[b.Job.ID()]
	if len(b.Groups) > 1 {
		if len(launchers) == 0 {
			return nil, false
		}
		return s.Fit(b)
	}
	kind := b.Groups[0].Kind
	for _, l := range launchers {
		free, _ := c.Room(l, 0, kind)
		if with, _ := c.RoomFor(l, b, kind); with == free {
			continue
		}
		if where, ok := s.FitOn(l, b); ok {
			return where, true
		}
	}
	return nil, false
}

// FitIfEmpty returns on which launchers the bundle would fit if nothing ran on those that are not
// closed. It takes nothing. The launchers asTheyAre, in order of id, count with their present load. The
// job's user counts as one who holds nothing.
func (s *search) FitIfEmpty(b *Bundle, asTheyAre ...scheduler.LauncherID) (where []scheduler.LauncherID, fits bool) {
	c := &s.Capacity
	mark := c.Mark()
	for _, l := range c.where.launchers() {
		if _, is := slices.BinarySearch(asTheyAre, l.ID); is || l.Closed() {
			continue
		}
		for _, s := range l.Slots {
			free, memory := c.Room(l, 0, s.Kind)
			more := scheduler.Group{Kind: s.Kind, Slots: s.Count - free, Memory: l.Memory - memory}
			more.Resources = l.Resources.Minus(c.RoomResources(l, nil))
			c.AddRoom(l, &more)
		}
	}
	b.Job.user.withUserIdle(func() {
		where, fits = s.Fit(b)
		c.Undo(mark)
	})
	return where, fits
}

// pick chooses the launcher for a group in Fit's order of preference.
func (c *Capacity) pick(b *Bundle, g *scheduler.Group) *Launcher {
	return c.pickNear(b, g, scheduler.Remote)
}

func (c *Capacity) pickNear(b *Bundle, g *scheduler.Group, level scheduler.Locality) *Launcher {
	number := c.kind(g.Kind)
	kind := &c.kinds[number]
	reserved := c.reserved[b.Job.ID()]
	if len(reserved) == 0 && (kind.total < g.Slots || kind.miss.covers(g)) {
		return nil
	}
	ok := func(l *Launcher) bool {
		if len(l.seat.reserved) == 0 && (number >= len(l.seat.free) || l.seat.free[number] < g.Slots) {
			return false // usual for a launcher near the input
		}
		return c.fits(l, b.Job.ID(), b.ID, g) && !b.avoids(l)
	}
	for _, place := range c.where.near(b, g.Places).on {
		if len(reserved) == 0 && g.Slots > 0 && !c.where.roomy(number, place) {
			continue // usual, and known without access to the launcher
		}
		if l := c.where.list[place]; ok(l) {
			return l
		}
	}
	if level == scheduler.NodeLocal {
		return nil
	}
	for _, p := range g.Places {
		if l := c.where.inRack(p.Rack, number, g.Slots, ok); l != nil {
			return l
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
	l := c.where.anywhere(number, g.Slots, ok)
	if l == nil && len(reserved) == 0 && len(b.Avoid) == 0 {
		kind.miss.add(g)
	}
	return l
}

// NearRoom returns the launchers and the racks that have a free slot of a kind and hold input of a
// job's launchable single-group bundles. Launchers are in order of id, racks in order of name. Its
// cost depends on the places of the job's input or on the launchers with room, whichever are fewer.
func (s *search) NearRoom(j *Job, kind scheduler.SlotKind) (on []*Launcher, racks []string) {
	c := &s.Capacity
	number, near := c.kind(kind), j.near()
	for l := range c.nearRoom(near, number) {
		on = append(on, l)
	}
	slices.SortFunc(on, func(x, y *Launcher) int { return cmp.Compare(x.ID, y.ID) })
	for rack := range near.racks {
		if c.where.inRack(rack, number, 1, func(*Launcher) bool { return true }) != nil {
			racks = append(racks, rack)
		}
	}
	slices.Sort(racks)
	return on, racks
}

// nearRoom walks, in no order, the launchers that NearRoom returns.
func (c *Capacity) nearRoom(near *launchable, kind int) iter.Seq[*Launcher] {
	return func(yield func(*Launcher) bool) {
		room := c.where.count(kind)
		if room == 0 {
			return
		}
		if room < near.hostsMost() {
			for l := range c.where.with(kind) {
				if near.inputOn(l.Host) && !yield(l) {
					return
				}
			}
			return
		}
		for host := range near.hosts {
			for _, l := range c.where.on(host) {
				if l.seat.roomy(kind) && !yield(l) {
					return
				}
			}
		}
	}
}

// HasNearRoom reports whether NearRoom returns any launcher. It is cheap: a few words for each host
// of the input.
func (s *search) HasNearRoom(j *Job, kind scheduler.SlotKind) bool {
	c := &s.Capacity
	number, near := c.kind(kind), j.near()
	if c.where.count(number)*manyHosts < near.hostsMost() {
		for range c.nearRoom(near, number) {
			return true
		}
		return false
	}
	return c.where.anyNear(near, number)
}

// manyHosts is how many hosts of a job's input cost as much as one launcher with room, whose host
// name must be looked up.
const manyHosts = 32

// HasNear reports whether a launcher that is not closed is on a host that holds input of a
// single-group bundle.
func (s *search) HasNear(b *Bundle) bool {
	c := &s.Capacity
	return c.where.hasOpen(c.where.near(b, b.Groups[0].Places))
}

// Locality returns how near a launcher is to a group's input. A group without located input is
// remote everywhere.
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

package view

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/hamadryad/hamadryad/internal/packing"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Bounds of the search for an arrangement of a gang, in steps.
const (
	searchMax      = 2_000  // of one search
	roundSearchMax = 50_000 // of all searches between two rounds
)

// fitGang is Fit for several groups. It picks a launcher for each. If that fails, it tries the
// launchers with least room, and then searches.
func (c *Capacity) fitGang(b *Bundle, pick func(*Bundle, *scheduler.Group) *Launcher) ([]scheduler.LauncherID, bool) {
	order := hardestFirst(b.Groups)
	if where, ok := c.tryGang(b, order, pick); ok {
		return where, true
	}
	if where, ok := c.tryGang(b, order, c.tightest); ok {
		return where, true
	}
	return c.searched(b)
}

// FitAnywhere is Fit without regard to locality.
func (s *search) FitAnywhere(b *Bundle) ([]scheduler.LauncherID, bool) {
	c := &s.Capacity
	if !b.WithinUserLimit() {
		return nil, false
	}
	return c.fitGang(b, func(b *Bundle, g *scheduler.Group) *Launcher {
		bare := *g
		bare.Places = nil
		return c.pick(b, &bare)
	})
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

func (c *Capacity) tryGang(b *Bundle, order []int, pick func(*Bundle, *scheduler.Group) *Launcher) ([]scheduler.LauncherID, bool) {
	mark := c.Mark()
	where := make([]scheduler.LauncherID, len(b.Groups))
	for _, i := range order {
		l := pick(b, &b.Groups[i])
		if l == nil {
			c.Undo(mark)
			return nil, false
		}
		c.takeGroup(l, b, &b.Groups[i])
		where[i] = l.ID
	}
	return where, true
}

// tightest chooses the launcher with least memory, then fewest slots, left after the group: the
// second try for a gang, without regard to locality.
func (c *Capacity) tightest(b *Bundle, g *scheduler.Group) *Launcher {
	var best *Launcher
	var bestSlots int
	var bestMemory int64
	for _, l := range c.where.launchers() {
		slots, memory := c.RoomFor(l, b, g.Kind)
		if !c.fits(l, b.Job.ID(), b.ID, g) || b.avoids(l) {
			continue
		}
		if best == nil || memory < bestMemory || memory == bestMemory && slots < bestSlots {
			best, bestSlots, bestMemory = l, slots, memory
		}
	}
	return best
}

// searched searches for an arrangement, without regard to locality. Equal groups need no search:
// their order does not matter.
func (c *Capacity) searched(b *Bundle) ([]scheduler.LauncherID, bool) {
	p := puzzle{Capacity: c, bundle: b}
	p.pieces()
	if len(p.items) < 2 || c.steps >= roundSearchMax {
		return nil, false
	}
	p.places()
	a := packing.Search(p.items, p.bins, len(p.items)*len(p.bins)+searchMax)
	c.steps += a.Steps
	if !a.Fits {
		return nil, false
	}
	where := make([]scheduler.LauncherID, len(b.Groups))
	for i := range b.Groups {
		on := a.On[p.itemOf[i]]
		at := slices.IndexFunc(on, func(n int) bool { return n > 0 })
		on[at]--
		c.takeGroup(p.on[at], b, &b.Groups[i])
		where[i] = p.on[at].ID
	}
	return where, true
}

// searchAnew resets the steps of a round's searches.
func (c *Capacity) searchAnew() { c.steps = 0 }

// puzzle is a gang and the launchers with room for part of it, for a search.
type puzzle struct {
	*Capacity
	bundle *Bundle
	kinds  []scheduler.SlotKind
	items  []packing.Item
	itemOf []int // by group
	bins   []packing.Bin
	on     []*Launcher // by bin
}

// pieces lists the distinct needs of the groups.
func (p *puzzle) pieces() {
	for i := range p.bundle.Groups {
		g := &p.bundle.Groups[i]
		kind := slices.Index(p.kinds, g.Kind)
		if kind < 0 {
			kind = len(p.kinds)
			p.kinds = append(p.kinds, g.Kind)
		}
		x := packing.Item{Kind: kind, Slots: g.Slots, Memory: g.Memory, Resources: g.Resources}
		at := slices.IndexFunc(p.items, func(y packing.Item) bool { y.Count = 0; return y == x })
		if at < 0 {
			at = len(p.items)
			p.items = append(p.items, x)
		}
		p.items[at].Count++
		p.itemOf = append(p.itemOf, at)
	}
}

// places lists the launchers with room for some group. Of launchers with equal room it lists at
// most as many as there are groups: more are useless.
func (p *puzzle) places() {
	same := map[string]int{}
	room := packing.Bin{Slots: make([]int, len(p.kinds))}
	var key []byte
	for _, l := range p.where.launchers() {
		if l.Closed() || p.bundle.avoids(l) {
			continue
		}
		key = key[:0]
		for k, kind := range p.kinds {
			slots, memory := p.RoomFor(l, p.bundle, kind)
			room.Slots[k], room.Memory = max(slots, 0), max(memory, 0)
			key = append(strconv.AppendInt(key, int64(room.Slots[k]), 10), ' ')
		}
		room.Resources = p.RoomResources(l, p.bundle).Positive()
		useful := slices.ContainsFunc(p.items, func(x packing.Item) bool {
			return room.Slots[x.Kind] >= x.Slots && room.Memory >= x.Memory && room.Resources.Covers(x.Resources)
		})
		key = append(strconv.AppendInt(key, room.Memory, 10), room.Resources.String()...)
		if !useful || same[string(key)] == len(p.bundle.Groups) {
			continue
		}
		same[string(key)]++
		p.bins = append(p.bins, packing.Bin{Slots: slices.Clone(room.Slots), Memory: room.Memory, Resources: room.Resources})
		p.on = append(p.on, l)
	}
}

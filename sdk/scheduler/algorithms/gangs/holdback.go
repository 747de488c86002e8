package gangs

import (
	"cmp"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Holdback is the free slots and memory that a round keeps for bundles that were passed over.
// They are taken in the view, so no Fit of the round finds them. The zero value keeps nothing.
type Holdback struct {
	bundles  []scheduler.BundleID
	tries    int // bundles for which WouldFit checked all launchers
	parts    []part
	released bool
}

// part is the slots and memory of one kind that are kept on one launcher.
type part struct {
	on *view.Launcher
	scheduler.Group
}

// triesMax bounds the bundles that a round checks against an empty cluster, because each check
// walks all launchers.
const triesMax = 4

// Collect calls HoldFor if a bundle is overdue and would fit if nothing ran, and says whether it
// did. It does nothing for a bundle for which slots are already kept. It checks only a few
// bundles (WouldFit).
func (k *Holdback) Collect(v *view.View, b *view.Bundle, after time.Duration, not ...scheduler.LauncherID) bool {
	if k.Has(b) || !Overdue(v, b, after) || !k.WouldFit(v, b, not...) {
		return false
	}
	k.HoldFor(v, b, after, not...)
	return true
}

// WouldFit says whether a bundle would fit if nothing ran except on the given launchers. It
// checks four bundles in a round, and returns false for all others.
func (k *Holdback) WouldFit(v *view.View, b *view.Bundle, not ...scheduler.LauncherID) bool {
	if k.tries == triesMax {
		return false
	}
	k.tries++
	_, fits := v.FitIfEmpty(b, not...)
	return fits
}

// ResetTries lets WouldFit check four bundles again.
func (k *Holdback) ResetTries() { k.tries = 0 }

// HoldFor keeps the free slots and memory that a bundle would use: where the bundle may run, and at
// most what it needs there. It chooses the launchers that lack least. It is not known which
// launcher becomes free first. So once the bundle has waited twice as long as after, a second
// launcher is kept for each group that does not fit yet, and one more each time that after passes.
// The given launchers are left alone. Call it after Fit failed.
func (k *Holdback) HoldFor(v *view.View, b *view.Bundle, after time.Duration, not ...scheduler.LauncherID) {
	if k.Has(b) || k.released {
		return
	}
	k.bundles = append(k.bundles, b.ID)
	wide := 1
	if after > 0 {
		wide = max(1, int(v.Now().Sub(PassedSince(b))/after))
	}
	a := arrangement{view: v, bundle: b, wide: wide, not: not}
	if !a.leastLacking() && !a.asIfEmpty() {
		return
	}
	for i := range a.seats {
		k.keepSeat(v, b, &a.seats[i])
	}
}

// Has says whether slots are kept for a bundle.
func (k *Holdback) Has(b *view.Bundle) bool { return slices.Contains(k.bundles, b.ID) }

// Any says whether slots are to be kept for some bundle, even if none is free.
func (k *Holdback) Any() bool { return len(k.bundles) > 0 }

// Slots returns how many slots of a kind are kept, or were until Release.
func (k *Holdback) Slots(kind scheduler.SlotKind) (n int) {
	for i := range k.parts {
		if k.parts[i].Kind == kind {
			n += k.parts[i].Slots
		}
	}
	return n
}

// Release returns everything to the view, for code that reads free slots after all launches. The
// Holdback keeps nothing afterwards.
func (k *Holdback) Release(v *view.View) {
	if !k.released {
		k.give(v)
		k.released = true
	}
}

func (k *Holdback) give(v *view.View) {
	for _, p := range k.parts {
		v.Capacity.AddRoom(p.on, &p.Group)
	}
}

// Without calls a function while nothing is kept, and then keeps again what the function left. It
// is for work that goes before all that waits, such as suspended attempts, which hold memory until
// they resume.
func (k *Holdback) Without(v *view.View, do func() bool) bool {
	if len(k.parts) == 0 || k.released {
		return do()
	}
	k.give(v)
	is := do()
	parts := k.parts
	k.parts = nil
	for _, p := range parts {
		k.take(v, p.on, p.Group)
	}
	return is
}

// keepSeat keeps the free part of what a bundle would take on a launcher. Countable resources are kept
// as slots are. Memory is kept only once the slots are complete: before that, work of other kinds may
// use it.
func (k *Holdback) keepSeat(v *view.View, b *view.Bundle, s *seat) {
	complete := true
	for i, n := range s.slots {
		free, _ := v.Capacity.Room(s.on, 0, n.Kind)
		mine, memory := v.Capacity.RoomFor(s.on, b, n.Kind)
		complete = complete && mine >= n.Count
		g := scheduler.Group{Kind: n.Kind, Slots: min(max(n.Count-(mine-free), 0), free)}
		if _, unreserved := v.Capacity.Room(s.on, 0, n.Kind); complete && i == len(s.slots)-1 {
			g.Memory = max(s.memory-(memory-unreserved), 0)
		}
		if i == 0 && !s.resources.IsZero() {
			free := v.Capacity.RoomResources(s.on, nil)
			g.Resources = s.resources.Minus(v.Capacity.RoomResources(s.on, b).Minus(free)).Positive().Least(free)
		}
		k.take(v, s.on, g)
	}
}

// take keeps slots and memory on a launcher, as far as they are free.
func (k *Holdback) take(v *view.View, l *view.Launcher, g scheduler.Group) {
	slots, memory := v.Capacity.Room(l, 0, g.Kind)
	g.Slots, g.Memory = min(g.Slots, max(slots, 0)), min(g.Memory, max(memory, 0))
	g.Resources = g.Resources.Least(v.Capacity.RoomResources(l, nil).Positive())
	if (g.Slots > 0 || g.Memory > 0 || !g.Resources.IsZero()) && v.Capacity.TakeRoom(l, &g) {
		k.parts = append(k.parts, part{l, g})
	}
}

// seat is what a bundle would take on one launcher.
type seat struct {
	on     *view.Launcher
	slots  []scheduler.SlotCount
	memory int64

	resources scheduler.Resources
}

func (s *seat) of(kind scheduler.SlotKind) int {
	for _, n := range s.slots {
		if n.Kind == kind {
			return n.Count
		}
	}
	return 0
}

func (s *seat) add(g *scheduler.Group) {
	s.memory += g.Memory
	s.resources = s.resources.Plus(g.Resources)
	for i := range s.slots {
		if s.slots[i].Kind == g.Kind {
			s.slots[i].Count += g.Slots
			return
		}
	}
	s.slots = append(s.slots, scheduler.SlotCount{Kind: g.Kind, Count: g.Slots})
}

// arrangement chooses the launchers where a bundle could start once some of the running work has
// ended.
type arrangement struct {
	view   *view.View
	bundle *view.Bundle
	wide   int // how many launchers are chosen for a group that does not fit
	not    []scheduler.LauncherID
	seats  []seat
}

// choice is a launcher for a group, and what it lacks.
type choice struct {
	on     *view.Launcher
	slots  int
	memory int64

	resources int // units of all kinds
}

// lacks reports whether the group does not fit there now.
func (c *choice) lacks() bool { return c.slots > 0 || c.memory > 0 || c.resources > 0 }

// leastLacking chooses launchers group by group, the groups that need most first. It says whether
// each group found one.
func (a *arrangement) leastLacking() bool {
	order := make([]*scheduler.Group, len(a.bundle.Groups))
	for i := range order {
		order[i] = &a.bundle.Groups[i]
	}
	slices.SortStableFunc(order, func(x, y *scheduler.Group) int {
		return cmp.Or(cmp.Compare(y.Memory, x.Memory), cmp.Compare(y.Slots, x.Slots))
	})
	var beside []seat
	for _, g := range order {
		all := a.choices(g)
		if len(all) == 0 {
			a.seats = nil
			return false
		}
		a.seat(all[0].on).add(g)
		if all[0].lacks() {
			for _, c := range all[1:min(len(all), a.wide)] {
				s := seat{on: c.on}
				s.add(g)
				beside = append(beside, s)
			}
		}
	}
	for _, s := range beside { // launchers already chosen have their free part kept
		if !slices.ContainsFunc(a.seats, func(x seat) bool { return x.on == s.on }) {
			a.seats = append(a.seats, s)
		}
	}
	return true
}

// choices lists the launchers where a group may run beside the groups that were placed before. The
// one that lacks least comes first, and at most wide are listed.
func (a *arrangement) choices(g *scheduler.Group) []choice {
	var all []choice
	for _, l := range a.view.Launchers() {
		if l.Closed() || slices.Contains(a.bundle.Avoid, l.ID) || slices.Contains(a.not, l.ID) {
			continue
		}
		var s seat
		if i := slices.IndexFunc(a.seats, func(x seat) bool { return x.on == l }); i >= 0 {
			s = a.seats[i]
		}
		slots, memory, resources := s.of(g.Kind)+g.Slots, s.memory+g.Memory, s.resources.Plus(g.Resources)
		if l.Total(g.Kind) < slots || l.Memory < memory || !l.Resources.Covers(resources) {
			continue
		}
		freeSlots, freeMemory := a.view.Capacity.RoomFor(l, a.bundle, g.Kind)
		c := choice{l, min(max(slots-freeSlots, 0), g.Slots), min(max(memory-freeMemory, 0), g.Memory), lacking(a.view, l, a.bundle, resources)}
		at, _ := slices.BinarySearchFunc(all, c, func(x, c choice) int {
			return cmp.Or(cmp.Compare(x.slots, c.slots), cmp.Compare(x.resources, c.resources), cmp.Compare(x.memory, c.memory), cmp.Compare(x.on.ID, c.on.ID))
		})
		if at < a.wide {
			all = slices.Insert(all, at, c)
			all = all[:min(len(all), a.wide)]
		}
	}
	return all
}

// lacking returns how many units of resources lack on a launcher for a bundle.
func lacking(v *view.View, l *view.Launcher, b *view.Bundle, need scheduler.Resources) (units int) {
	if need.IsZero() {
		return 0
	}
	for _, c := range need.Minus(v.Capacity.RoomResources(l, b)).Positive().Counts() {
		units += min(c.Count, need.Of(c.Kind))
	}
	return units
}

// asIfEmpty chooses the launchers that Fit finds if nothing runs: groups chosen one by one
// may have left no launcher for the last.
func (a *arrangement) asIfEmpty() bool {
	where, ok := a.view.FitIfEmpty(a.bundle, a.not...)
	for i, id := range where {
		a.seat(a.view.Launcher(id)).add(&a.bundle.Groups[i])
	}
	return ok
}

func (a *arrangement) seat(l *view.Launcher) *seat {
	i := slices.IndexFunc(a.seats, func(x seat) bool { return x.on == l })
	if i < 0 {
		i = len(a.seats)
		a.seats = append(a.seats, seat{on: l})
	}
	return &a.seats[i]
}

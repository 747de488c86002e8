package cluster

import (
	"slices"

	"github.com/hamadryad/hamadryad/internal/packing"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// IdleSlot is a free slot, and a job with ready work that fits it.
type IdleSlot struct {
	Launcher scheduler.LauncherID
	Kind     scheduler.SlotKind
	Job      scheduler.JobID
	Bundle   scheduler.BundleID
}

// Idle returns the jobs with work that fits, while nothing at all runs.
func (c *Cluster) Idle() (ids []scheduler.JobID) {
	if c.launched || slices.ContainsFunc(c.mirror.Launchers(), func(l *view.Launcher) bool { return len(l.Attempts()) > 0 }) {
		return nil
	}
	for b := range c.mirror.Ready() {
		if !slices.Contains(ids, b.Job.ID()) && c.fitsWhole(b, always) {
			ids = append(ids, b.Job.ID())
		}
	}
	return ids
}

// free is what is free on a launcher.
type free struct {
	slots     map[scheduler.SlotKind]int
	memory    int64
	resources scheduler.Resources
}

// take takes what a group needs, even if it is not there.
func (f *free) take(g *scheduler.Group) {
	f.slots[g.Kind] -= g.Slots
	f.memory -= g.Memory
	f.resources = f.resources.Minus(g.Resources)
}

func always(*view.Launcher, *free) bool { return true }

// IdleWork lists the unreserved free slots that ready work fits, on quiet launchers, as the policy
// was told, less its launches since. It leaves out slots that larger bundles or attempts suspended
// there could use; larger means that they need more than is free now. Slots are those for bundles
// of one group; a job is named once for each launcher and kind. Gangs are bundles of several groups
// that fit whole on unreserved slots and those reserved for them.
func (c *Cluster) IdleWork(quiet func(scheduler.LauncherID) bool) (slots, gangs []IdleSlot) {
	small, large := c.bySize(quiet)
	for _, b := range small {
		if len(b.Groups) > 1 && c.fitsWhole(b, c.without(large, quiet)) {
			gangs = append(gangs, IdleSlot{Kind: b.Groups[0].Kind, Job: b.Job.ID(), Bundle: b.ID})
		}
	}
	small = slices.DeleteFunc(small, func(b *view.Bundle) bool { return len(b.Groups) > 1 })
	if len(small) == 0 {
		return nil, gangs
	}
	for _, l := range c.mirror.Launchers() {
		if !l.Closed() && quiet(l.ID) {
			slots = append(slots, c.idleOn(l, small, large)...)
		}
	}
	return slots, gangs
}

// bySize splits the ready bundles. small fit in addition to all bundles that need more than is free
// now. large would fit if nothing ran: slots may be collected for these.
func (c *Cluster) bySize(quiet func(scheduler.LauncherID) bool) (small, large []*view.Bundle) {
	for b := range c.mirror.Ready() {
		switch {
		case c.fitsWhole(b, func(l *view.Launcher, _ *free) bool { return quiet(l.ID) }):
			small = append(small, b)
		case len(b.Groups) > 1 || c.fitsEmpty(b):
			large = append(large, b)
		}
	}
	for n := -1; n < len(large); { // slots collected for one bundle are denied to others
		n = len(large)
		small = slices.DeleteFunc(small, func(b *view.Bundle) bool {
			fits := c.fitsWhole(b, c.without(large, quiet))
			if !fits {
				large = append(large, b)
			}
			return !fits
		})
	}
	return small, large
}

// fitsEmpty reports whether a launcher could hold a bundle of one group if nothing ran.
func (c *Cluster) fitsEmpty(b *view.Bundle) bool {
	g := &b.Groups[0]
	return slices.ContainsFunc(c.mirror.Launchers(), func(l *view.Launcher) bool {
		return !l.Closed() && !slices.Contains(b.Avoid, l.ID) && g.Slots <= l.Total(g.Kind) && g.Memory <= l.Memory && l.Resources.Covers(g.Resources)
	})
}

// without leaves out what large bundles could use, and launchers that are not quiet.
func (c *Cluster) without(large []*view.Bundle, quiet func(scheduler.LauncherID) bool) func(*view.Launcher, *free) bool {
	return func(l *view.Launcher, f *free) bool {
		c.leaveOut(l, large, f.take)
		return quiet(l.ID)
	}
}

// arrangementsMax bounds the search for places of a gang, in steps; beyond it, the gang counts as
// not fitting.
const arrangementsMax = 20_000

// fitsWhole reports whether a bundle fits on free slots and those reserved for it. less reduces a
// launcher's resources, or leaves the launcher out.
func (c *Cluster) fitsWhole(b *view.Bundle, less func(*view.Launcher, *free) bool) bool {
	var kinds []scheduler.SlotKind
	var items []packing.Item
	for i := range b.Groups {
		g := &b.Groups[i]
		at := slices.Index(kinds, g.Kind)
		if at < 0 {
			at = len(kinds)
			kinds = append(kinds, g.Kind)
		}
		items = append(items, packing.Item{Kind: at, Slots: g.Slots, Memory: g.Memory, Resources: g.Resources, Count: 1})
	}
	var bins []packing.Bin
	for _, l := range c.mirror.Launchers() {
		if l.Closed() || slices.Contains(b.Avoid, l.ID) {
			continue
		}
		f := free{slots: map[scheduler.SlotKind]int{}, resources: c.mirror.Capacity.RoomResources(l, b)}
		for _, k := range kinds {
			f.slots[k], f.memory = c.mirror.Capacity.RoomFor(l, b, k)
		}
		if !less(l, &f) {
			continue
		}
		bin := packing.Bin{Memory: max(f.memory, 0), Resources: f.resources.Positive()}
		for _, k := range kinds {
			bin.Slots = append(bin.Slots, max(f.slots[k], 0))
		}
		bins = append(bins, bin)
	}
	return packing.Search(items, bins, arrangementsMax).Fits
}

// leaveOut counts what attempts suspended on a launcher, and bundles that need more than is free,
// could use there.
func (c *Cluster) leaveOut(l *view.Launcher, large []*view.Bundle, count func(*scheduler.Group)) {
	for _, a := range l.Attempts() {
		if a.State == view.Suspended && !a.Resuming {
			count(a.Need)
		}
	}
	for _, b := range large {
		if slices.Contains(b.Avoid, l.ID) {
			continue
		}
		for i := range b.Groups {
			if g := &b.Groups[i]; g.Slots <= l.Total(g.Kind) && g.Memory <= l.Memory && l.Resources.Covers(g.Resources) {
				count(g)
			}
		}
	}
}

func (c *Cluster) idleOn(l *view.Launcher, small, large []*view.Bundle) (all []IdleSlot) {
	f := free{slots: map[scheduler.SlotKind]int{}, resources: c.mirror.Capacity.RoomResources(l, nil)}
	for _, s := range l.Slots {
		f.slots[s.Kind], f.memory = c.mirror.Capacity.Room(l, 0, s.Kind)
	}
	c.leaveOut(l, large, f.take)
	for _, b := range small {
		g := &b.Groups[0]
		x := IdleSlot{l.ID, g.Kind, b.Job.ID(), b.ID}
		same := func(y IdleSlot) bool { return x.Kind == y.Kind && x.Job == y.Job }
		if f.slots[g.Kind] >= g.Slots && f.memory >= g.Memory && f.resources.Covers(g.Resources) && !slices.Contains(b.Avoid, l.ID) && !slices.ContainsFunc(all, same) {
			all = append(all, x)
		}
	}
	return all
}

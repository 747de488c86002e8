package cluster

import (
	"slices"

	"github.com/hamadryad/hamadryad/internal/packing"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// IdleSlot is a free slot, and a job with ready work that it fits.
type IdleSlot struct {
	Launcher scheduler.LauncherID
	Kind     scheduler.SlotKind
	Job      scheduler.JobID
	Bundle   scheduler.BundleID
}

// IdleSlots lists the slots that are free for all and that ready work fits, on launchers that are quiet. It leaves out as
// much as bundles could use there that need more than is free now, and attempts that are
// suspended there. Of ready work it looks at bundles of one group: IdleGangs has the others. A
// job is named once for each launcher and kind.
func (c *Cluster) IdleSlots(quiet func(scheduler.LauncherID) bool) (all []IdleSlot) {
	small, large := c.bySize(quiet)
	small = slices.DeleteFunc(small, func(b *bundle) bool { return len(b.groups) > 1 })
	if len(small) == 0 {
		return nil
	}
	for _, l := range c.there() {
		if !l.closed() && quiet(l.id) {
			all = append(all, c.idleOn(l, small, large)...)
		}
	}
	return all
}

// IdleGangs lists the ready bundles of several groups that fit whole on what is free for all and
// what is reserved for them, on launchers that are quiet: by job and bundle. As in IdleSlots, it
// leaves out what others could use that need more.
func (c *Cluster) IdleGangs(quiet func(scheduler.LauncherID) bool) (all []IdleSlot) {
	small, large := c.bySize(quiet)
	for _, b := range small {
		if len(b.groups) > 1 && c.fitsWhole(b, func(l *launcher, slots map[scheduler.SlotKind]int, memory *int64) bool {
			c.leaveOut(l, large, func(g *scheduler.Group) {
				slots[g.Kind] -= g.Slots
				*memory -= g.Memory
			})
			return quiet(l.id)
		}) {
			all = append(all, IdleSlot{Kind: b.group(0).Kind, Job: b.job.id(), Bundle: b.id})
		}
	}
	return all
}

// bySize lists the ready bundles that fit beside all that needs more than is free now, and the
// others that would if nothing ran: slots may be collected for these.
func (c *Cluster) bySize(quiet func(scheduler.LauncherID) bool) (small, large []*bundle) {
	for _, j := range c.live() {
		for _, b := range j.bundles {
			switch {
			case b.state != ready:
			case c.fitsWhole(b, func(l *launcher, _ map[scheduler.SlotKind]int, _ *int64) bool { return quiet(l.id) }):
				small = append(small, b)
			case len(b.groups) > 1 || c.everFits(b):
				large = append(large, b)
			}
		}
	}
	for n := -1; n < len(large); { // what is collected for one keeps others from what they would take
		n = len(large)
		small = slices.DeleteFunc(small, func(b *bundle) bool {
			fits := c.fitsWhole(b, func(l *launcher, slots map[scheduler.SlotKind]int, memory *int64) bool {
				c.leaveOut(l, large, func(g *scheduler.Group) {
					slots[g.Kind] -= g.Slots
					*memory -= g.Memory
				})
				return quiet(l.id)
			})
			if !fits {
				large = append(large, b)
			}
			return !fits
		})
	}
	return small, large
}

// arrangementsMax bounds the search for places of a gang, in steps; beyond it, it does not fit.
const arrangementsMax = 20_000

// fitsWhole says whether a bundle fits on what is free and reserved for it. Less changes what a
// launcher has, or leaves it out.
func (c *Cluster) fitsWhole(b *bundle, less func(*launcher, map[scheduler.SlotKind]int, *int64) bool) bool {
	var kinds []scheduler.SlotKind
	var items []packing.Item
	for i := range b.groups {
		g := b.group(i)
		at := slices.Index(kinds, g.Kind)
		if at < 0 {
			at = len(kinds)
			kinds = append(kinds, g.Kind)
		}
		items = append(items, packing.Item{Kind: at, Slots: g.Slots, Memory: g.Memory, Count: 1})
	}
	room := c.room(b.job.id(), b.id)
	var bins []packing.Bin
	for _, l := range c.there() {
		slots, memory := room.at(l.id)
		if l.closed() || slices.Contains(b.excluded(), l.id) || !less(l, slots, &memory) {
			continue
		}
		bin := packing.Bin{Memory: max(memory, 0)}
		for _, k := range kinds {
			bin.Slots = append(bin.Slots, max(slots[k], 0))
		}
		bins = append(bins, bin)
	}
	return packing.Search(items, bins, arrangementsMax).Fits
}

// leaveOut names what attempts that are suspended on a launcher, and bundles that need more than is
// free, could use there.
func (c *Cluster) leaveOut(l *launcher, large []*bundle, count func(*scheduler.Group)) {
	for _, a := range l.attempts {
		if a.suspended() {
			count(a.need)
		}
	}
	for _, b := range large {
		if slices.Contains(b.excluded(), l.id) {
			continue
		}
		for i := range b.groups {
			if g := b.group(i); g.Slots <= l.total(g.Kind) && g.Memory <= l.info.Memory {
				count(g)
			}
		}
	}
}

func (c *Cluster) idleOn(l *launcher, small, large []*bundle) (all []IdleSlot) {
	slots, memory := map[scheduler.SlotKind]int{}, c.freeMemory(l)
	for _, s := range l.info.Slots {
		slots[s.Kind] = c.freeSlots(l, s.Kind)
	}
	count := func(g *scheduler.Group) {
		slots[g.Kind] -= g.Slots
		memory -= g.Memory
	}
	c.leaveOut(l, large, count)
	for _, b := range small {
		g := b.group(0)
		x := IdleSlot{l.id, g.Kind, b.job.id(), b.id}
		same := func(y IdleSlot) bool { return x.Kind == y.Kind && x.Job == y.Job }
		if slots[g.Kind] >= g.Slots && memory >= g.Memory && !slices.Contains(b.excluded(), l.id) && !slices.ContainsFunc(all, same) {
			all = append(all, x)
		}
	}
	return all
}

// JobOf is the job of a bundle; 0: it is not there.
func (c *Cluster) JobOf(id scheduler.BundleID) scheduler.JobID {
	if b := c.bundle(id); b != nil {
		return b.job.id()
	}
	return 0
}

// LoadReported says whether the policy was told that a launcher's machine is busy at all.
func (c *Cluster) LoadReported(id scheduler.LauncherID) bool {
	l := c.get(id)
	return l != nil && (l.told.CPU > 0 || l.told.Memory > 0)
}

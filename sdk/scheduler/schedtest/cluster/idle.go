package cluster

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// IdleSlot is a free slot, and a job with ready work that it fits.
type IdleSlot struct {
	Launcher scheduler.LauncherID
	Kind     scheduler.SlotKind
	Job      scheduler.JobID
	Bundle   scheduler.BundleID
}

// IdleSlots lists the slots that are free for all and that ready work fits. It leaves out as
// much as bundles could use there that need more than is free now, and attempts that are
// suspended there. Of ready work it looks at bundles of one group: whether a gang fits depends
// on how it is placed. A job is named once for each launcher and kind.
func (c *Cluster) IdleSlots() (all []IdleSlot) {
	var small, large []*bundle
	for _, j := range c.live() {
		for _, b := range j.bundles {
			switch {
			case b.state != ready:
			case len(b.groups) == 1 && c.fits(b, nil, nil, 0):
				small = append(small, b)
			case c.everFits(b):
				large = append(large, b)
			}
		}
	}
	if len(small) == 0 {
		return nil
	}
	for _, l := range c.there() {
		if !l.closed() {
			all = append(all, c.idleOn(l, small, large)...)
		}
	}
	return all
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

// LoadTold says whether the policy was told that a launcher's machine is busy at all.
func (c *Cluster) LoadTold(id scheduler.LauncherID) bool {
	l := c.get(id)
	return l != nil && (l.told.CPU > 0 || l.told.Memory > 0)
}

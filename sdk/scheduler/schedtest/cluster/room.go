package cluster

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// room is what could be taken, tentatively.
type room struct {
	slots  map[scheduler.LauncherID]map[scheduler.SlotKind]int
	memory map[scheduler.LauncherID]int64
}

// room adds up what is free or reserved for a bundle, and only what is free for none.
func (c *Cluster) room(b *bundle) room {
	r := room{map[scheduler.LauncherID]map[scheduler.SlotKind]int{}, map[scheduler.LauncherID]int64{}}
	for _, l := range c.launchers {
		kinds := map[scheduler.SlotKind]int{}
		for _, s := range l.info.Slots {
			kinds[s.Kind] = c.freeSlots(l, s.Kind)
		}
		r.slots[l.id], r.memory[l.id] = kinds, c.freeMemory(l)
		if b == nil {
			continue
		}
		for _, h := range c.drawable(b, l.id) {
			for _, s := range h.slots {
				kinds[s.Kind] += s.Count
			}
			r.memory[l.id] += h.memory
		}
	}
	return r
}

// emptyRoom is what there would be if nothing ran.
func (c *Cluster) emptyRoom() room {
	r := room{map[scheduler.LauncherID]map[scheduler.SlotKind]int{}, map[scheduler.LauncherID]int64{}}
	for _, l := range c.launchers {
		r.slots[l.id], r.memory[l.id] = map[scheduler.SlotKind]int{}, l.info.Memory
		for _, s := range l.info.Slots {
			r.slots[l.id][s.Kind] = s.Count
		}
	}
	return r
}

func (r room) take(l scheduler.LauncherID, kind scheduler.SlotKind, slots int, memory int64) bool {
	if r.slots[l] == nil || r.slots[l][kind] < slots || r.memory[l] < memory {
		return false
	}
	r.slots[l][kind] -= slots
	r.memory[l] -= memory
	return true
}

// fits takes room for a bundle on the launchers that are named, or tries them all for
// each group, the widest first.
func (r room) fits(c *Cluster, b *bundle, where, avoid []scheduler.LauncherID) bool {
	order := make([]int, len(b.groups))
	for i := range order {
		order[i] = i
	}
	if where == nil {
		slices.SortStableFunc(order, func(x, y int) int {
			return cmp.Or(b.groups[y].Slots-b.groups[x].Slots, cmp.Compare(b.groups[y].Memory, b.groups[x].Memory))
		})
	}
	for _, i := range order {
		g := b.groups[i]
		if !slices.ContainsFunc(c.launchers, func(l *launcher) bool {
			return !l.draining && !slices.Contains(avoid, l.id) && (where == nil || where[i] == l.id) && r.take(l.id, g.Kind, g.Slots, g.Memory)
		}) {
			return false
		}
	}
	return true
}

// Idle returns the jobs that have work which fits, while nothing at all runs.
func (c *Cluster) Idle() (jobs []scheduler.JobID) {
	if slices.ContainsFunc(c.launchers, func(l *launcher) bool { return len(l.attempts) > 0 }) {
		return nil
	}
	for _, j := range c.jobs {
		if slices.ContainsFunc(j.bundles, func(b *bundle) bool { return b.state == ready && c.fits(b, nil, nil, 0) }) {
			jobs = append(jobs, j.info.ID)
		}
	}
	return jobs
}

// relaxAvoid looks, after launchers came or went, whether some ready bundle now avoids
// all that is left.
func (c *Cluster) relaxAvoid() {
	if !c.moved {
		return
	}
	c.moved = false
	for _, j := range c.jobs {
		for _, b := range j.bundles {
			if b.state == ready && len(b.avoid) > 0 && !c.somewhere(b) {
				c.tell(scheduler.BundleWithdrawn{At: c.now, Job: j.info.ID, Bundle: b.id})
				c.makeReady(b)
			}
		}
	}
}

// somewhere says whether a bundle would have room on the launchers that it does not
// avoid, were they empty.
func (c *Cluster) somewhere(b *bundle) bool {
	return c.emptyRoom().fits(c, b, nil, b.avoid)
}

// makeReady offers a bundle. It forgets what the bundle avoids when nothing else is
// left: a launcher where it failed is better than none.
func (c *Cluster) makeReady(b *bundle) {
	if len(b.avoid) > 0 && !c.somewhere(b) {
		b.avoid = b.avoid[len(b.avoid)-1:] // where it failed last is still avoided
		if !c.somewhere(b) {
			b.avoid = nil
		}
	}
	b.state = ready
	avoid := slices.Clone(b.avoid)
	slices.Sort(avoid)
	b.tale = []telling{c.tell(scheduler.BundleReady{At: c.now, Job: b.job.info.ID, Bundle: b.id, Groups: b.groups, Avoid: avoid})}
}

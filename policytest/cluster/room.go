package cluster

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// room is what could be taken, tentatively.
type room struct {
	slots  map[scheduler.LauncherID]map[scheduler.SlotKind]int
	memory map[scheduler.LauncherID]*memory
}

// memory is that of one launcher.
type memory struct {
	free   int64 // were all that is suspended in memory; less than none when it is not
	parked int64 // of what is suspended
	swap   int64 // that takes of it what it can
}

func (m *memory) enough() bool { return m.free+min(m.parked, m.swap) >= 0 }

// room adds up what is free or reserved for a bundle, and, for bundle 0, only what is
// free for all. With job 0 it is a bundle that goes on: of what is reserved it may have
// what is for it alone.
func (ls *launchers) room(job scheduler.JobID, bundle scheduler.BundleID) room {
	r := room{map[scheduler.LauncherID]map[scheduler.SlotKind]int{}, map[scheduler.LauncherID]*memory{}}
	for _, l := range ls.list {
		kinds := map[scheduler.SlotKind]int{}
		for _, s := range l.info.Slots {
			kinds[s.Kind] = ls.freeSlots(l, s.Kind)
		}
		m := &memory{ls.freeMemory(l) - min(l.parked(), l.info.Swap), l.parked(), l.info.Swap}
		r.slots[l.id], r.memory[l.id] = kinds, m
		if bundle == 0 {
			continue
		}
		for _, x := range ls.reservations.at(l.id) {
			if x.Bundle == bundle || x.Bundle == 0 && x.Job == job {
				kinds[x.Kind] += x.Slots
				m.free += x.Memory
			}
		}
	}
	return r
}

// emptyRoom is what there would be if nothing ran.
func (ls *launchers) emptyRoom() room {
	r := room{map[scheduler.LauncherID]map[scheduler.SlotKind]int{}, map[scheduler.LauncherID]*memory{}}
	for _, l := range ls.list {
		r.slots[l.id], r.memory[l.id] = map[scheduler.SlotKind]int{}, &memory{free: l.info.Memory}
		for _, s := range l.info.Slots {
			r.slots[l.id][s.Kind] = s.Count
		}
	}
	return r
}

// at is what there is on a launcher that is there.
func (r room) at(l scheduler.LauncherID) (slots map[scheduler.SlotKind]int, memory int64) {
	m := r.memory[l]
	return r.slots[l], m.free + min(m.parked, m.swap)
}

// take says whether there is as much, and takes it if so. What it takes of what there is
// not is no matter: who asks for more has been told that it does not fit.
func (r room) take(l scheduler.LauncherID, kind scheduler.SlotKind, slots int, memory int64) bool {
	if r.slots[l] == nil || r.slots[l][kind] < slots || r.memory[l].free+min(r.memory[l].parked, r.memory[l].swap) < memory {
		return false
	}
	r.slots[l][kind] -= slots
	r.memory[l].free -= memory
	return true
}

// takeAgain is take for one that is suspended, which goes on.
func (r room) takeAgain(a *attempt) bool {
	m := r.memory[a.on.id]
	m.parked -= a.need.Memory // it runs, so that all of it counts in memory, as it did when swap had none
	return m.enough() && r.take(a.on.id, a.need.Kind, a.need.Slots, 0)
}

// give adds what an attempt would leave when it is killed or suspended.
func (r room) give(a *attempt, killed bool) {
	m := r.memory[a.on.id]
	if m == nil {
		return
	}
	r.slots[a.on.id][a.need.Kind] += a.holds(a.need.Kind)
	switch {
	case killed && a.suspended():
		m.free += a.need.Memory
		m.parked -= a.need.Memory
	case killed:
		m.free += a.need.Memory
	default:
		m.parked += a.need.Memory
	}
}

// leave adds what some runs would leave.
func (r room) leave(runs []*run, mode scheduler.PreemptMode) {
	for _, f := range runs {
		for _, a := range f.attempts {
			r.give(a, mode != scheduler.PreemptSuspend)
		}
	}
}

// fits takes room for groups on the launchers that are named, or tries them all for
// each group, the widest first.
func (ls *launchers) fits(r room, groups []scheduler.Group, where, avoid []scheduler.LauncherID) bool {
	order := make([]int, len(groups))
	for i := range order {
		order[i] = i
	}
	if where == nil {
		slices.SortStableFunc(order, func(x, y int) int {
			return cmp.Or(groups[y].Slots-groups[x].Slots, cmp.Compare(groups[y].Memory, groups[x].Memory))
		})
	}
	for _, i := range order {
		g := groups[i]
		if !slices.ContainsFunc(ls.list, func(l *launcher) bool {
			return !l.closed() && !slices.Contains(avoid, l.id) && (where == nil || where[i] == l.id) && r.take(l.id, g.Kind, g.Slots, g.Memory)
		}) {
			return false
		}
	}
	return true
}

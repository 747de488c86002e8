package cluster

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// reservation is what an accepted preemption keeps for its beneficiary: as its victims
// leave, their slots and memory come to it.
type reservation struct {
	job     scheduler.JobID
	bundle  scheduler.BundleID // 0: any of the job's
	victims int                // still to free what they hold
	held    []holding          // in order of launcher
	kept    bool               // it had something once
	drawn   bool               // a launch or a resumption had some of that
}

// holding is what a reservation has at one launcher.
type holding struct {
	of       *reservation
	launcher scheduler.LauncherID
	slots    []scheduler.SlotCount // in order of kind
	memory   int64
}

func (h *holding) add(kind scheduler.SlotKind, n int, memory int64) {
	i, found := slices.BinarySearchFunc(h.slots, kind, func(s scheduler.SlotCount, k scheduler.SlotKind) int { return cmp.Compare(s.Kind, k) })
	if !found {
		h.slots = slices.Insert(h.slots, i, scheduler.SlotCount{Kind: kind})
	}
	h.slots[i].Count += n
	h.memory += memory
}

func (h *holding) empty() bool {
	return h.memory == 0 && !slices.ContainsFunc(h.slots, func(s scheduler.SlotCount) bool { return s.Count > 0 })
}

// reservations is the room of what is kept for whom. One that has nothing and will not
// have anything is not in it.
type reservations struct {
	list  []*reservation // in order of time
	tally *Tally
}

func newReservations(tally *Tally) reservations { return reservations{tally: tally} }

// add begins a reservation, which ends when it is released.
func (rs *reservations) add(job scheduler.JobID, bundle scheduler.BundleID) *reservation {
	x := &reservation{job: job, bundle: bundle}
	rs.list = append(rs.list, x)
	return x
}

func (rs *reservations) stands(x *reservation) bool { return slices.Contains(rs.list, x) }

// promise is called for each attempt that is to leave its place to a reservation.
func (rs *reservations) promise(x *reservation) { x.victims++ }

// keep is called when it has: with what it held at a launcher, and nil for one that can't
// be launched on any more.
func (rs *reservations) keep(x *reservation, at *launcher, kind scheduler.SlotKind, slots int, memory int64) {
	if !rs.stands(x) {
		return
	}
	x.victims--
	if at != nil {
		i, found := slices.BinarySearchFunc(x.held, at.id, func(h holding, id scheduler.LauncherID) int { return cmp.Compare(h.launcher, id) })
		if !found {
			x.held = slices.Insert(x.held, i, holding{of: x, launcher: at.id})
		}
		x.held[i].add(kind, slots, memory)
		if !x.kept {
			x.kept = true
			rs.tally.Reservations++
		}
	}
	rs.releaseEmpty(x)
}

// lapse ends a reservation whose time is over.
func (rs *reservations) lapse(x *reservation) {
	if x.kept && !x.drawn && rs.stands(x) {
		rs.tally.Lapsed++
	}
	rs.release(x)
}

func (rs *reservations) release(x *reservation) {
	rs.list = slices.DeleteFunc(rs.list, func(y *reservation) bool { return x == y })
}

// releaseEmpty ends a reservation that has nothing and will not have anything.
func (rs *reservations) releaseEmpty(x *reservation) {
	if x.victims == 0 && !slices.ContainsFunc(x.held, func(h holding) bool { return !h.empty() }) {
		rs.release(x)
	}
}

// releaseOf ends what was reserved for a bundle that started, or may not any more, and
// for its job when that demands nothing else.
func (rs *reservations) releaseOf(job scheduler.JobID, bundle scheduler.BundleID, demand bool) {
	for _, x := range slices.Clone(rs.list) {
		switch {
		case x.job != job:
		case x.bundle == bundle, x.bundle == 0 && !demand:
			rs.release(x)
		default:
			rs.releaseEmpty(x)
		}
	}
}

// releaseOn ends what is reserved at a launcher that drains or is gone.
func (rs *reservations) releaseOn(id scheduler.LauncherID) {
	for _, x := range slices.Clone(rs.list) {
		x.held = slices.DeleteFunc(x.held, func(h holding) bool { return h.launcher == id })
		rs.releaseEmpty(x)
	}
}

// releaseFor ends what is reserved for a job that has ended.
func (rs *reservations) releaseFor(job scheduler.JobID) {
	rs.list = slices.DeleteFunc(rs.list, func(x *reservation) bool { return x.job == job })
}

// at adds up what is reserved at a launcher for each job, bundle and kind.
func (rs *reservations) at(id scheduler.LauncherID) []scheduler.Reservation {
	var all []scheduler.Reservation
	for _, x := range rs.list {
		for _, h := range x.held {
			if h.launcher != id {
				continue
			}
			memory := h.memory
			for _, s := range h.slots {
				if s.Count > 0 || memory > 0 {
					all = sum(all, scheduler.Reservation{Job: x.job, Bundle: x.bundle, Kind: s.Kind, Slots: s.Count, Memory: memory})
					memory = 0 // counted once, on the first kind
				}
			}
		}
	}
	return all
}

// sum adds a reservation to those of the same job, bundle and kind, in order of these.
func sum(all []scheduler.Reservation, r scheduler.Reservation) []scheduler.Reservation {
	i, found := slices.BinarySearchFunc(all, r, func(x, y scheduler.Reservation) int {
		return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.Bundle, y.Bundle), cmp.Compare(x.Kind, y.Kind))
	})
	if !found {
		return slices.Insert(all, i, r)
	}
	all[i].Slots += r.Slots
	all[i].Memory += r.Memory
	return all
}

// releaseAlone ends what was reserved for one bundle that goes on, or can't any more.
func (rs *reservations) releaseAlone(bundle scheduler.BundleID) {
	rs.list = slices.DeleteFunc(rs.list, func(x *reservation) bool { return x.bundle == bundle })
}

// drawable lists what is reserved at a launcher that a bundle may draw on: first what is
// for it alone. With job 0 it is a bundle that goes on, for which nothing else is.
func (rs *reservations) drawable(job scheduler.JobID, bundle scheduler.BundleID, id scheduler.LauncherID) []*holding {
	var own, any []*holding
	for _, x := range rs.list {
		for i := range x.held {
			switch h := &x.held[i]; {
			case h.launcher != id:
			case x.bundle == bundle:
				own = append(own, h)
			case x.bundle == 0 && x.job == job:
				any = append(any, h)
			}
		}
	}
	return append(own, any...)
}

// draw takes what a group of a bundle that starts or goes on needs from what is reserved
// for it; the rest it has from what is free.
func (rs *reservations) draw(job scheduler.JobID, bundle scheduler.BundleID, id scheduler.LauncherID, g *scheduler.Group) {
	slots, memory := g.Slots, g.Memory
	for _, h := range rs.drawable(job, bundle, id) {
		before := slots
		for k := range h.slots {
			if s := &h.slots[k]; s.Kind == g.Kind {
				n := min(slots, s.Count)
				s.Count, slots = s.Count-n, slots-n
			}
		}
		m := min(memory, h.memory)
		h.memory, memory = h.memory-m, memory-m
		if (slots < before || m > 0) && !h.of.drawn {
			h.of.drawn = true
			rs.tally.Drawn++
		}
	}
}

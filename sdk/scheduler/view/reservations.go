package view

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// reservations maps each job with reservations to the launchers that hold them, in order of id,
// each once.
type reservations map[scheduler.JobID][]*Launcher

// replace replaces the reservations of a launcher's previous offer.
func (rs *reservations) replace(l *Launcher, list []scheduler.Reservation) {
	for _, r := range l.Offer.Reserved {
		(*rs)[r.Job] = remove((*rs)[r.Job], l.ID, launcherID)
		if len((*rs)[r.Job]) == 0 {
			delete(*rs, r.Job)
		}
	}
	for _, r := range list {
		if *rs == nil {
			*rs = reservations{}
		}
		(*rs)[r.Job] = insert(remove((*rs)[r.Job], l.ID, launcherID), l, launcherID)
	}
}

// drawable reports whether a bundle of a job may draw on a reservation. Job 0 stands for a resumed
// bundle, which may draw only on its own reservations.
func drawable(r *scheduler.Reservation, job scheduler.JobID, b scheduler.BundleID) bool {
	if r.Bundle == 0 {
		return r.Job == job
	}
	return r.Bundle == b
}

// drawn returns what is left of reservations after a group of a bundle takes what it needs, and how
// much must come from elsewhere.
func drawn(list []scheduler.Reservation, job scheduler.JobID, b scheduler.BundleID, g *scheduler.Group) (kept []scheduler.Reservation, slots int, memory int64, countable scheduler.Resources) {
	slots, memory, countable = g.Slots, g.Memory, g.Resources
	kept = slices.Clone(list)
	for i := range slices.Backward(kept) { // reservations for any bundle of the job come first
		r := &kept[i]
		if !drawable(r, job, b) {
			continue
		}
		m := min(memory, r.Memory)
		r.Memory, memory = r.Memory-m, memory-m
		c := countable.Least(r.Resources)
		r.Resources, countable = r.Resources.Minus(c), countable.Minus(c)
		if r.Kind == g.Kind {
			s := min(slots, r.Slots)
			r.Slots, slots = r.Slots-s, slots-s
		}
	}
	return kept, slots, memory, countable
}

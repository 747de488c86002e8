package view

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// reservations has, for each job for which something is reserved, the launchers that keep
// it, in order of id, each once.
type reservations map[scheduler.JobID][]*Launcher

// replace puts a launcher's reservations in the place of those of its last offer.
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

// drawable tells whether a bundle of a job may draw on a reservation. With job 0 it is a
// bundle that goes on: it may draw on what is for it alone.
func drawable(r *scheduler.Reservation, job scheduler.JobID, b scheduler.BundleID) bool {
	if r.Bundle == 0 {
		return r.Job == job
	}
	return r.Bundle == b
}

// drawn is what is left of reservations when a group of a bundle takes what it needs, and
// what of that must come from elsewhere.
func drawn(list []scheduler.Reservation, job scheduler.JobID, b scheduler.BundleID, g *scheduler.Group) (kept []scheduler.Reservation, slots int, memory int64) {
	slots, memory = g.Slots, g.Memory
	kept = slices.Clone(list)
	for i := range slices.Backward(kept) { // what is for any of the job's bundles comes first
		r := &kept[i]
		if !drawable(r, job, b) {
			continue
		}
		m := min(memory, r.Memory)
		r.Memory, memory = r.Memory-m, memory-m
		if r.Kind == g.Kind {
			s := min(slots, r.Slots)
			r.Slots, slots = r.Slots-s, slots-s
		}
	}
	return kept, slots, memory
}

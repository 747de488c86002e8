package resources

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A planned reservation is one that the policy asks for by Reserve, and for which nothing is
// preempted. On each of its launchers it takes what is free, and what becomes free later, until it
// has what its bundle needs there. Of two on a launcher the earlier one is filled first.

// EndedReservation is a planned reservation that ended, and why.
type EndedReservation struct {
	Job    scheduler.JobID
	Bundle scheduler.BundleID
	End    scheduler.ReservationEnd
}

// planned is what Reservations keeps of planned reservations beside the reservations themselves.
type planned struct {
	byBundle map[scheduler.BundleID]*Reservation
	owner    string             // name in the configuration of the policy that made them
	ended    []EndedReservation // since TakeEndedReservations; empty between two steps
}

// lack is what a planned reservation still waits for on a launcher.
type lack struct {
	slots     Slots
	memory    int64
	resources scheduler.Resources
}

// take moves what is free and lacking to a part, up to what is lacking.
func (k *lack) take(l *Launcher, p *part) {
	for i := range k.slots {
		s := &k.slots[i]
		if n := min(s.Count, l.free.Of(s.Kind)); n > 0 {
			s.Count -= n
			l.free.Add(s.Kind, -n)
			p.slots.Add(s.Kind, n)
		}
	}
	if m := min(k.memory, l.freeMemory); m > 0 {
		k.memory -= m
		l.freeMemory -= m
		p.memory += m
	}
	if r := k.resources.Least(l.freeResources); !r.IsZero() {
		k.resources = k.resources.Minus(r)
		l.freeResources = l.freeResources.Minus(r)
		p.resources = p.resources.Plus(r)
	}
}

// IsPlanned reports whether the policy asked for the reservation without a preemption.
func (r *Reservation) IsPlanned() bool { return r.Where != nil }

// PlannedLen returns the number of planned reservations.
func (rs *Reservations) PlannedLen() int { return len(rs.planned.byBundle) }

// PlannedFor returns a bundle's planned reservation, or nil.
func (rs *Reservations) PlannedFor(b scheduler.BundleID) *Reservation { return rs.planned.byBundle[b] }

// Plan makes a planned reservation for a bundle, on a launcher for each of its groups. It replaces
// the bundle's earlier one, which keeps its place among others: the new ID is then not used. The
// owner is the policy's name in the configuration.
func (rs *Reservations) Plan(r Reservation, b Bundle, where []*Launcher, owner string) *Reservation {
	rs.planned.owner = owner
	touched := slices.Clone(where)
	k := rs.PlannedFor(r.Bundle)
	if k == nil {
		k = rs.Reserve(r)
	} else {
		for _, p := range k.parts {
			touched = append(touched, p.on)
			p.on.dropPart(p)
		}
		r.ID = k.ID
		*k = r
	}
	for i, l := range where {
		rs.plannedPart(k, l).add(b.Request(i))
	}
	rs.keepPlanned(k)
	slices.SortFunc(touched, func(x, y *Launcher) int { return cmp.Compare(x.ID, y.ID) })
	for _, l := range slices.Compact(touched) {
		rs.fill(l)
		rs.offers.markPlanned(l)
	}
	return k
}

func (rs *Reservations) keepPlanned(r *Reservation) {
	if rs.planned.byBundle == nil {
		rs.planned.byBundle = map[scheduler.BundleID]*Reservation{}
	}
	rs.planned.byBundle[r.Bundle] = r
}

// plannedPart returns a planned reservation's part on a launcher, and makes it if necessary.
func (rs *Reservations) plannedPart(r *Reservation, l *Launcher) *part {
	for _, p := range r.parts {
		if p.on == l {
			return p
		}
	}
	p := &part{on: l, of: r, lacks: &lack{}}
	r.parts = append(r.parts, p)
	l.addPart(p)
	return p
}

// add makes a part lack what a group requests.
func (p *part) add(d Request) {
	p.lacks.slots.Add(d.Kind, d.Slots)
	p.lacks.memory += d.Memory
	p.lacks.resources = p.lacks.resources.Plus(d.Resources)
}

// fill gives the planned reservations on a launcher what is free there.
func (rs *Reservations) fill(l *Launcher) {
	if !l.Usable() {
		return
	}
	for _, p := range l.parts {
		if p.lacks != nil {
			p.lacks.take(l, p)
		}
	}
}

// Withdraw ends a bundle's planned reservation, and reports whether there was one.
func (rs *Reservations) Withdraw(b scheduler.BundleID, end scheduler.ReservationEnd) bool {
	r := rs.PlannedFor(b)
	if r == nil {
		return false
	}
	rs.release(r, end)
	return true
}

// forgetPlanned records the end of a planned reservation.
func (rs *Reservations) forgetPlanned(r *Reservation, end scheduler.ReservationEnd) {
	if !r.IsPlanned() {
		return
	}
	delete(rs.planned.byBundle, r.Bundle)
	if end != 0 {
		rs.planned.ended = append(rs.planned.ended, EndedReservation{r.Job, r.Bundle, end})
	}
}

// TakeEndedReservations lists the planned reservations that ended since the last call, in order.
func (rs *Reservations) TakeEndedReservations() []EndedReservation {
	list := rs.planned.ended
	rs.planned.ended = nil
	return list
}

// KeepPlannedOf ends all reservations when a policy takes over, other than those that the same
// policy made before it was restarted. The name is that in the configuration.
func (rs *Reservations) KeepPlannedOf(policy string) {
	rs.ReleasePreempted()
	if rs.planned.owner != policy {
		rs.ReleaseAll()
	}
}

// ReleasePreempted ends all reservations that are not planned.
func (rs *Reservations) ReleasePreempted() {
	for r := range rs.index.All() {
		if !r.IsPlanned() {
			rs.release(r, 0)
		}
	}
}

// ReleaseExpired ends the planned reservations whose end passed while the manager was down.
func (rs *Reservations) ReleaseExpired(now scheduler.Time) {
	for r := range rs.index.All() {
		if r.IsPlanned() {
			rs.Expire(r.ID, now)
		}
	}
}

// PlannedForOthers returns what the planned reservations of other bundles have, by launcher.
func (rs *Reservations) PlannedForOthers(b scheduler.BundleID) Freed {
	kept := Freed{}
	if len(rs.planned.byBundle) == 0 {
		return kept
	}
	for r := range rs.index.All() {
		if !r.IsPlanned() || r.Bundle == b {
			continue
		}
		for _, p := range r.parts {
			x := kept[p.on.ID]
			if x == nil {
				x = &room{}
				kept[p.on.ID] = x
			}
			x.slots.addAll(p.slots)
			x.memory += p.memory
			x.resources = x.resources.Plus(p.resources)
		}
	}
	return kept
}

// FitsEmptyOn returns why a bundle would not have room on the launchers named for its groups if they
// were empty; "" when it would.
func (ls *Launchers) FitsEmptyOn(b Bundle, where []*Launcher) string {
	rooms := map[scheduler.LauncherID]*room{}
	for i, l := range where {
		if rooms[l.ID] == nil {
			rooms[l.ID] = l.emptyRoom()
		}
		if d := b.Request(i); !rooms[l.ID].take(d) {
			return fmt.Sprintf("group %d of %v needs %s, and launcher %d (%s) has no such room even when it is empty", i, b.ID(), d, l.ID, l.Name)
		}
	}
	return ""
}

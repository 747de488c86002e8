package resources

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A claim is a reservation that the policy asks for, and for which nothing is preempted. On each of
// its launchers it takes what is free, and what becomes free later, until it has what its bundle
// needs there. Of two claims on a launcher the earlier one is filled first.

// EndedClaim is a claim that ended, and why.
type EndedClaim struct {
	Job    scheduler.JobID
	Bundle scheduler.BundleID
	End    scheduler.ReservationEnd
}

// claims are what Reservations keeps of claims beside the reservations themselves.
type claims struct {
	byBundle map[scheduler.BundleID]*Reservation
	owner    string       // name in the configuration of the policy that made them
	ended    []EndedClaim // since TakeEndedClaims; empty between two steps
}

// lack is what a claim still waits for on a launcher.
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

// IsClaim reports whether the policy asked for the reservation without a preemption.
func (r *Reservation) IsClaim() bool { return r.Where != nil }

// Claims returns the number of claims.
func (rs *Reservations) Claims() int { return len(rs.claims.byBundle) }

// ClaimFor returns a bundle's claim, or nil.
func (rs *Reservations) ClaimFor(b scheduler.BundleID) *Reservation { return rs.claims.byBundle[b] }

// Claim makes a claim for a bundle, on a launcher for each of its groups. It replaces the bundle's
// earlier claim, which keeps its place among others: the new ID is then not used. The owner is the
// policy's name in the configuration.
func (rs *Reservations) Claim(r Reservation, b Bundle, where []*Launcher, owner string) *Reservation {
	rs.claims.owner = owner
	touched := slices.Clone(where)
	k := rs.ClaimFor(r.Bundle)
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
		rs.claimPart(k, l).add(b.Request(i))
	}
	rs.keepClaim(k)
	slices.SortFunc(touched, func(x, y *Launcher) int { return cmp.Compare(x.ID, y.ID) })
	for _, l := range slices.Compact(touched) {
		rs.fill(l)
		rs.offers.MarkChanged(l)
	}
	return k
}

func (rs *Reservations) keepClaim(r *Reservation) {
	if rs.claims.byBundle == nil {
		rs.claims.byBundle = map[scheduler.BundleID]*Reservation{}
	}
	rs.claims.byBundle[r.Bundle] = r
}

// claimPart returns a claim's part on a launcher, and makes it if necessary.
func (rs *Reservations) claimPart(r *Reservation, l *Launcher) *part {
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

// add makes a claim's part lack what a group requests.
func (p *part) add(d Request) {
	p.lacks.slots.Add(d.Kind, d.Slots)
	p.lacks.memory += d.Memory
	p.lacks.resources = p.lacks.resources.Plus(d.Resources)
}

// fill gives a launcher's claims what is free there.
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

// Withdraw ends a bundle's claim, and reports whether there was one.
func (rs *Reservations) Withdraw(b scheduler.BundleID, end scheduler.ReservationEnd) bool {
	r := rs.ClaimFor(b)
	if r == nil {
		return false
	}
	rs.release(r, end)
	return true
}

// forgetClaim records the end of a reservation that is a claim.
func (rs *Reservations) forgetClaim(r *Reservation, end scheduler.ReservationEnd) {
	if !r.IsClaim() {
		return
	}
	delete(rs.claims.byBundle, r.Bundle)
	if end != 0 {
		rs.claims.ended = append(rs.claims.ended, EndedClaim{r.Job, r.Bundle, end})
	}
}

// TakeEndedClaims lists the claims that ended since the last call, in order.
func (rs *Reservations) TakeEndedClaims() []EndedClaim {
	list := rs.claims.ended
	rs.claims.ended = nil
	return list
}

// KeepClaimsOf ends all reservations when a policy takes over, other than the claims that the same
// policy made before it was restarted. The name is that in the configuration.
func (rs *Reservations) KeepClaimsOf(policy string) {
	rs.ReleasePreempted()
	if rs.claims.owner != policy {
		rs.ReleaseAll()
	}
}

// ReleasePreempted ends all reservations that are no claims.
func (rs *Reservations) ReleasePreempted() {
	for r := range rs.index.All() {
		if !r.IsClaim() {
			rs.release(r, 0)
		}
	}
}

// ReleaseExpired ends the claims whose end passed while the manager was down.
func (rs *Reservations) ReleaseExpired(now scheduler.Time) {
	for r := range rs.index.All() {
		if r.IsClaim() {
			rs.Expire(r.ID, now)
		}
	}
}

// ClaimedForOthers returns what the claims of other bundles have, by launcher.
func (rs *Reservations) ClaimedForOthers(b scheduler.BundleID) Freed {
	claimed := Freed{}
	if len(rs.claims.byBundle) == 0 {
		return claimed
	}
	for r := range rs.index.All() {
		if !r.IsClaim() || r.Bundle == b {
			continue
		}
		for _, p := range r.parts {
			x := claimed[p.on.ID]
			if x == nil {
				x = &room{}
				claimed[p.on.ID] = x
			}
			x.slots.addAll(p.slots)
			x.memory += p.memory
			x.resources = x.resources.Plus(p.resources)
		}
	}
	return claimed
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

package resources

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/internal/idmap"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Reservation keeps the resources that a preemption or a reclaim frees for its beneficiary. That is
// the named bundle, which starts or resumes, else any bundle of the job that starts. It ends when
// that bundle has started or may no longer start, when the job has no ready bundle left, when it
// expires, or when the policy changes. What is left is then free for all.
type Reservation struct {
	ID      uint64
	Job     scheduler.JobID
	Bundle  scheduler.BundleID // 0: any of the job's
	Expires scheduler.Time
	// Where is the launcher for each group of a planned reservation's bundle; nil: it is not planned.
	Where   []scheduler.LauncherID
	Since   scheduler.Time // of a planned reservation: when it was made
	victims int            // that have not freed their resources yet
	parts   []*part        // one for each launcher, in order of arrival
}

// Reservations are all reservations, by id.
type Reservations struct {
	index     idmap.Index[uint64, Reservation]
	byJob     map[scheduler.JobID][]*Reservation // in order of id; jobs without any have no entry
	launchers *Launchers
	offers    *Offers
	planned   planned
}

// part is a reservation's resources on one launcher.
type part struct {
	on     *Launcher
	of     *Reservation
	slots  Slots
	memory int64

	resources scheduler.Resources
	lacks     *lack // nil: the reservation is not planned
}

// draw takes resources out of a part. Negative amounts are put back.
func (p *part) draw(kind string, slots int, memory int64, resources scheduler.Resources) {
	if slots != 0 { // else the part may lack the kind
		p.slots.Add(kind, -slots)
	}
	p.memory -= memory
	p.resources = p.resources.Minus(resources)
}

func (p *part) empty() bool {
	return p.memory <= 0 && p.resources.IsZero() && !slices.ContainsFunc(p.slots, func(s scheduler.SlotCount) bool { return s.Count > 0 })
}

// parts are the parts that a bundle may use.
type parts []*part

func (d parts) slots(kind string) (n int) {
	for _, p := range d {
		n += p.slots.Of(kind)
	}
	return n
}

func (d parts) memory() (n int64) {
	for _, p := range d {
		n += p.memory
	}
	return n
}

func (d parts) resources() (r scheduler.Resources) {
	for _, p := range d {
		r = r.Plus(p.resources)
	}
	return r
}

// reservedFor lists the resources reserved on a launcher for a bundle: first those for it alone.
func (l *Launcher) reservedFor(b Bundle) parts {
	if len(l.parts) == 0 {
		return nil
	}
	var own, any parts
	job, id := b.JobID(), b.ID()
	for _, p := range l.parts {
		switch {
		case p.of.Job != job:
		case p.of.Bundle == id:
			own = append(own, p)
		case p.of.Bundle == 0:
			any = append(any, p)
		}
	}
	return append(own, any...)
}

// reservedForAlone lists the resources reserved on a launcher for a bundle and no other.
func (l *Launcher) reservedForAlone(b scheduler.BundleID) (own parts) {
	for _, p := range l.parts {
		if p.of.Bundle == b {
			own = append(own, p)
		}
	}
	return own
}

// ReservedAlone returns how many slots of a kind a launcher has reserved for a bundle alone.
func (l *Launcher) ReservedAlone(b scheduler.BundleID, kind string) int {
	return l.reservedForAlone(b).slots(kind)
}

// Reserve makes an empty reservation. Its ID exceeds all earlier ones.
func (rs *Reservations) Reserve(r Reservation) *Reservation {
	rs.add(&r)
	return &r
}

// add adds a reservation, whose job is known.
func (rs *Reservations) add(r *Reservation) {
	rs.index.Add(r.ID, r)
	if rs.byJob == nil {
		rs.byJob = map[scheduler.JobID][]*Reservation{}
	}
	rs.byJob[r.Job] = append(rs.byJob[r.Job], r)
}

func (rs *Reservations) remove(r *Reservation) {
	rs.index.Remove(r.ID)
	rest := slices.DeleteFunc(rs.byJob[r.Job], func(x *Reservation) bool { return x == r })
	if rs.byJob[r.Job] = rest; len(rest) == 0 {
		delete(rs.byJob, r.Job)
	}
}

// AddVictim makes a reservation receive what an allocation releases.
func (rs *Reservations) AddVictim(r *Reservation, h *Allocation) {
	rs.VictimDone(h) // of a reservation that it was being suspended for
	h.Reservation = r.ID
	r.victims++
}

// VictimDone records that a victim freed its resources, or never will.
func (rs *Reservations) VictimDone(h *Allocation) {
	r := rs.index.Get(h.Reservation)
	h.Reservation = 0
	if r == nil {
		return
	}
	r.victims--
	rs.ReleaseIfEmpty(r)
}

// partFor returns the part that receives what an allocation releases, or nil.
func (rs *Reservations) partFor(l *Launcher, h *Allocation) *part {
	if h.Reservation == 0 {
		return nil
	}
	r := rs.index.Get(h.Reservation)
	if r == nil || !l.Usable() {
		return nil
	}
	for _, p := range r.parts {
		if p.on == l {
			return p
		}
	}
	p := &part{on: l, of: r}
	r.parts = append(r.parts, p)
	l.addPart(p)
	return p
}

// addPart adds a part of a reservation.
func (l *Launcher) addPart(p *part) {
	l.parts = append(l.parts, p)
	slices.SortFunc(l.parts, func(x, y *part) int { return cmp.Compare(x.of.ID, y.of.ID) })
}

// dropPart removes a part of a reservation, whose resources become free.
func (l *Launcher) dropPart(p *part) {
	l.parts = slices.DeleteFunc(l.parts, func(x *part) bool { return x == p })
	l.free.addAll(p.slots)
	l.freeMemory += p.memory
	l.freeResources = l.freeResources.Plus(p.resources)
	p.slots, p.memory, p.resources = nil, 0, scheduler.Resources{}
}

// ReleaseIfEmpty ends a reservation that has nothing and expects nothing. A planned one always
// expects something.
func (rs *Reservations) ReleaseIfEmpty(r *Reservation) {
	if !r.IsPlanned() && r.victims == 0 && !slices.ContainsFunc(r.parts, func(p *part) bool { return !p.empty() }) {
		rs.release(r, 0)
	}
}

// release makes a reservation's resources free for all. The policy is told of the end of a planned
// one, if end is not 0.
func (rs *Reservations) release(r *Reservation, end scheduler.ReservationEnd) {
	rs.forgetPlanned(r, end)
	for _, p := range r.parts {
		rs.releasePart(p)
	}
	r.parts = nil
	rs.remove(r)
}

func (rs *Reservations) releasePart(p *part) {
	l := p.on
	l.dropPart(p)
	rs.fill(l)
	rs.offers.capacityFreed = true
	if p.of.IsPlanned() {
		rs.offers.markPlanned(l)
	} else {
		rs.offers.MarkChanged(l)
	}
}

// Expire ends a reservation that is due, and reports whether there was one.
func (rs *Reservations) Expire(id uint64, now scheduler.Time) bool {
	r := rs.index.Get(id)
	if r == nil || now < r.Expires {
		return false
	}
	rs.release(r, scheduler.ReservationExpired)
	return true
}

// ReleaseFor ends the reservations for a bundle that starts or may no longer start, and those for
// any bundle of its job when the job has no ready bundle left. end is why a
// planned one ends.
func (rs *Reservations) ReleaseFor(b Bundle, ready int, end scheduler.ReservationEnd) {
	if rs.index.Len() == 0 {
		return
	}
	of := rs.byJob[b.JobID()]
	if len(of) == 0 {
		return // as for most jobs
	}
	for _, r := range slices.Clone(of) {
		switch {
		case rs.index.Get(r.ID) != r: // it ended with one before
		case r.Bundle == b.ID(), r.Bundle == 0 && ready == 0:
			rs.release(r, end)
		default:
			rs.ReleaseIfEmpty(r)
		}
	}
}

// ReleaseForBundle ends the reservations for one bundle that is resumed where it was suspended, or
// can't be any more.
func (rs *Reservations) ReleaseForBundle(b scheduler.BundleID) {
	for r := range rs.index.All() {
		if r.Bundle == b {
			rs.release(r, scheduler.ReservationNotReady)
		}
	}
}

// ReleaseForJob ends all reservations for a job.
func (rs *Reservations) ReleaseForJob(id scheduler.JobID) {
	for _, r := range slices.Clone(rs.byJob[id]) {
		if rs.index.Get(r.ID) == r {
			rs.release(r, scheduler.ReservationNotReady)
		}
	}
}

// ReleaseAll ends all reservations, because another policy takes over.
func (rs *Reservations) ReleaseAll() {
	for r := range rs.index.All() {
		rs.release(r, scheduler.ReservationPolicyChanged)
	}
}

// releaseOn ends the reservations on a launcher that drains, is excluded or is lost.
func (rs *Reservations) releaseOn(l *Launcher) {
	for _, p := range slices.Clone(l.parts) {
		r := p.of
		if r.IsPlanned() { // the rest of it would be of no use
			rs.release(r, scheduler.ReservationLauncherLost)
			continue
		}
		rs.releasePart(p)
		r.parts = slices.DeleteFunc(r.parts, func(x *part) bool { return x == p })
		rs.ReleaseIfEmpty(r)
	}
}

// BeingFreed reports whether victims are about to free resources for a bundle.
func (rs *Reservations) BeingFreed(b scheduler.BundleID) bool {
	for r := range rs.index.All() {
		if r.Bundle == b && r.victims > 0 {
			return true
		}
	}
	return false
}

// Len returns the number of reservations.
func (rs *Reservations) Len() int { return rs.index.Len() }

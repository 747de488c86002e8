package preemptivefair

import (
	"fmt"
	"math"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality/placement"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// request is a job that wants slots of one kind.
type request struct {
	job  *job
	kind scheduler.SlotKind
	held int  // slots, including those from this round
	due  *due // of a newcomer
	left int  // of its first share, after this round
	done bool // has nothing more that could start
	more int  // bundles it may still launch after this round
	nth  int  // among the requests of its kind, where they are listed
	at   int  // index in its kind's queue; -1: not in it
	// Why the job has nothing more to start.
	unfit *view.Bundle
	kept  string // why free slots are held from it; "": they are not
}

// assignment is the work of one round.
type assignment struct {
	*world
	options options
	memory  *memory
	seed    uint64
	// limits are the manager's bounds.
	limits scheduler.Limits
	placer *locality.Placer

	keep     map[scheduler.SlotKind]int          // free slots that are held
	keepFor  scheduler.JobID                     // the first job they are held for
	keepTill scheduler.Time                      // when the first hold ends; 0: at no set time
	collect  map[scheduler.SlotKind]*view.Bundle // for which free slots are collected
	kept     gangs.Holdback                      // collected slots, no longer in the view
	// besideHeld has the kinds of slots of bundles that would fit, but for which slots are still
	// collected, because the free slots are held for jobs between stages.
	besideHeld map[scheduler.SlotKind]bool
	launches   []scheduler.Launch
	preempts   []scheduler.Preempt
	taking     map[scheduler.JobID]bool // slots are being taken back for it
	// protectedTill is when the first protected victim may be preempted; 0: none is protected.
	protectedTill scheduler.Time
	lacking       bool // some newcomer found no job to take slots from
}

// assign decides one round.
func (d *assignment) assign() {
	d.keep, d.taking, d.collect = map[scheduler.SlotKind]int{}, map[scheduler.JobID]bool{}, map[scheduler.SlotKind]*view.Bundle{}
	d.besideHeld = map[scheduler.SlotKind]bool{}
	d.gather()
	d.hold()
	for _, kind := range d.kinds {
		d.overdue(kind)
	}
	for _, kind := range d.kinds {
		d.give(kind)
	}
	d.placer.Place(&d.options.Locality, placement.Round{View: d.view}, d.launches)
	d.kept.Release(d.view)
	for _, kind := range d.kinds {
		d.preemptForNewcomers(kind)
	}
}

// gather brings the requests of jobs up to date: of those with events, those that the last
// assignment changed, and those that gain or lose slots by preemption.
func (d *assignment) gather() {
	w := d.world
	clear(w.renewed) // lets ended jobs be freed
	w.renewed, w.changed = w.changed, w.renewed[:0]
	for _, s := range w.renewed {
		s.changed, s.renewed = false, true
	}
	for _, s := range w.touched {
		w.renew(s)
	}
	for id := range w.leaving { // in any order, as the list is
		w.renew(w.known[id])
	}
	for _, n := range d.memory.Newcomers {
		w.renew(w.known[n.Job])
	}
	for _, s := range w.renewed {
		if s.renewed = false; w.known[s.ID()] == s && s.waits {
			d.request(s)
		}
	}
	for _, kind := range d.kinds {
		w.queues[kind].due = w.queues[kind].due[:0]
	}
	for _, n := range d.memory.Newcomers {
		for _, c := range w.known[n.Job].requests {
			if c != nil && c.left > 0 {
				w.queues[c.kind].due = append(w.queues[c.kind].due, c)
			}
		}
	}
	for _, kind := range d.kinds {
		w.queues[kind].begin()
	}
}

// renew adds a job to those whose requests are made anew; nil is one that has ended.
func (w *world) renew(s *job) {
	if s != nil && !s.renewed {
		s.renewed = true
		w.renewed = append(w.renewed, s)
	}
}

// request makes a waiting job's requests anew.
func (d *assignment) request(s *job) {
	n := d.memory.newcomer(s.ID())
	for i, kind := range s.kinds {
		of, leaving := &s.of[i], d.leaving[s.ID()][kind]
		if of.ready == 0 {
			d.withdraw(s, i)
			continue
		}
		if s.requests[i] == nil {
			s.requests[i] = &request{at: -1}
		}
		c := s.requests[i]
		*c = request{job: s, kind: kind, held: of.held - leaving, more: of.first, due: n.due(kind), at: c.at}
		if c.due != nil {
			c.left = c.due.left()
		}
		d.queues[kind].put(c)
		if c.due != nil || leaving != 0 {
			d.change(s) // both are only as of this round
		}
	}
}

// requestOf returns a job's request of a kind, or nil.
func (d *assignment) requestOf(j *job, kind scheduler.SlotKind) *request {
	if i := slices.Index(j.kinds, kind); i >= 0 {
		return j.requests[i]
	}
	return nil
}

// hold decides how many free slots are held for jobs between stages.
func (d *assignment) hold() {
	if d.options.Hold == holdNone {
		return
	}
	for _, b := range d.memory.Between {
		till := b.Since.Add(d.options.HoldMax)
		if d.options.HoldMax > 0 && till <= d.view.Now() {
			continue
		}
		if d.keepFor == 0 {
			d.keepFor = b.Job
		}
		if d.options.HoldMax > 0 && (d.keepTill == 0 || till < d.keepTill) {
			d.keepTill = till
		}
		j := d.known[b.Job]
		for _, kind := range j.kinds {
			switch n := j.WaitingSlots(kind); {
			case n == 0:
			case d.options.Hold == holdAll:
				d.keep[kind] = math.MaxInt
			case d.keep[kind] < math.MaxInt:
				d.keep[kind] += min(n, int(math.Round(d.share(kind))))
			}
		}
	}
}

// give assigns the free slots of a kind, one bundle at a time.
func (d *assignment) give(kind scheduler.SlotKind) {
	for {
		c := d.next(kind)
		if c == nil {
			return
		}
		b, where := d.start(c, kind)
		d.change(c.job)
		if b == nil {
			c.done = true
			d.queues[kind].leave(c)
			continue
		}
		d.launch(c.job, b, where)
	}
}

func (d *assignment) launch(j *job, b *view.Bundle, where []scheduler.LauncherID) {
	d.change(j)
	d.launches = append(d.launches, d.view.Launch(b, where))
	d.requestOf(j, b.Groups[0].Kind).more--
	for i := range b.Groups {
		g := &b.Groups[i]
		if c := d.requestOf(j, g.Kind); c != nil {
			c.held += g.Slots
			c.left = max(0, c.left-g.Slots)
			d.queues[g.Kind].moved(c)
		}
	}
}

// next picks the job that gets the next slot: a newcomer, or the job with the fewest slots below
// its share. When the policy is work-conserving, it may be above its share.
func (d *assignment) next(kind scheduler.SlotKind) *request {
	q := d.queues[kind]
	var best *request
	if d.view.Capacity.FreeSlots(kind) == 0 {
		best = d.nextReserved(kind)
	} else {
		best = q.next()
	}
	if best != nil && !d.entitled(best, kind) {
		return nil
	}
	return best
}

// entitled says whether a request may have a free slot.
func (d *assignment) entitled(c *request, kind scheduler.SlotKind) bool {
	return c.left > 0 || d.options.WorkConserving || d.view.Capacity.Reserved(c.job.ID()) || float64(c.held) < d.share(kind)
}

// nextReserved is next among the jobs with reservations, when nothing else is free.
func (d *assignment) nextReserved(kind scheduler.SlotKind) *request {
	if !d.view.Capacity.AnyReserved() {
		return nil
	}
	var best *request
	for _, j := range d.waiting {
		c := d.requestOf(j, kind)
		switch {
		case c == nil || c.done || !d.view.Capacity.Reserved(c.job.ID()):
		case c.left > 0:
			return c
		case best == nil || c.held < best.held:
			best = c
		}
	}
	return best
}

// start takes room for one of a job's bundles: one that can run near its input or in its rack,
// else the first that fits.
func (d *assignment) start(c *request, kind scheduler.SlotKind) (*view.Bundle, []scheduler.LauncherID) {
	levels := []scheduler.Locality{scheduler.NodeLocal, scheduler.RackLocal, scheduler.Remote}
	if !c.job.Located() || d.options.Locality.Blind() {
		levels = levels[2:]
	}
	for _, level := range levels {
		n := 0
		for b := range c.job.Launchable(kind, 0).All() {
			if where, ok := d.take(c, b, level); ok {
				return b, where
			}
			if level == scheduler.Remote && c.unfit == nil {
				c.unfit = b
			}
			if n++; n == locality.MissesMax {
				break
			}
		}
	}
	return nil, nil
}

// fit finds a place for a bundle within a distance from its input.
func (d *assignment) fit(b *view.Bundle, level scheduler.Locality) ([]scheduler.LauncherID, bool) {
	if level == scheduler.Remote {
		return d.options.Locality.Fit(d.view, b)
	}
	return d.view.FitNear(b, level)
}

// take fits a bundle, unless that would use held slots. Slots reserved for the job do not count
// as held.
func (d *assignment) take(c *request, b *view.Bundle, level scheduler.Locality) ([]scheduler.LauncherID, bool) {
	mark := d.view.Capacity.Mark()
	var one [1]int
	free := one[:]
	if n := len(b.Groups); n > 1 {
		free = make([]int, n)
	}
	for i := range b.Groups {
		free[i] = d.view.Capacity.FreeSlots(b.Groups[i].Kind)
	}
	where, ok := d.fit(b, level)
	if !ok {
		return nil, false
	}
	for i := range b.Groups {
		kind := b.Groups[i].Kind
		left := d.view.Capacity.FreeSlots(kind)
		switch {
		case left == free[i]:
			continue // the group uses reserved slots
		case left < d.keep[kind]:
			c.kept = fmt.Sprintf("held for %s, which is between its stages", d.keepFor)
		default:
			continue
		}
		d.view.Capacity.Undo(mark)
		return nil, false
	}
	return where, true
}

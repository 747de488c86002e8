package virtual

import (
	"math"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/heap"
)

// projection is the order in which jobs will finish if no job arrives, and only finishes change the
// level. It is computed as far as it is asked for, and valid until something changes.
//
// Without arrivals the level only rises. So a bound class stays bound, and a sharing class may
// become bound at some finish. The projection does not modify the cluster's heaps: of each heap it
// holds only the items that come next after those it has passed. Virtual jobs are passed many at a
// time.
type projection struct {
	cluster *Cluster
	valid   bool
	number  uint64 // of this projection; marks the classes and jobs that it has touched
	order   []*Job // the part that is known; no virtual jobs

	begin, at    moment
	weight, caps float64 // of the sharing and the bound jobs, without virtual jobs

	sharing, bound               heap.Heap[entry]  // candidates for the next job, by their classes' unit of time
	ratios                       heap.Heap[*class] // sharing classes that may be bound next
	sharingVirtual, boundVirtual *virtualJobs
}

// moment is a time, the level's integral then, and the virtual jobs' progress since the projection
// began.
type moment struct {
	seconds, integral float64
	sharing, bound    progress
}

type entry struct {
	due float64
	job *Job
}

func (a entry) before(b entry) bool {
	return a.due < b.due || a.due == b.due && a.job.compare(b.job) < 0
}

// ahead is the projection's state of a class that it has touched.
type ahead struct {
	number       uint64
	weight, caps float64 // of the jobs that have not finished, without virtual jobs
	bound        bool
	from, base   float64 // as in class, if the class is bound
}

// of returns the projection's state of a class.
func (p *projection) of(k *class) *ahead {
	if k.ahead.number != p.number {
		k.ahead = ahead{
			number: p.number, weight: float64(k.weight-k.gone.weight) / weightUnits, caps: float64(k.caps - k.gone.caps),
			bound: k.bound, from: k.from, base: k.base,
		}
	}
	return &k.ahead
}

// ensure starts a new projection if the last one is no longer valid.
func (p *projection) ensure() {
	if p.valid {
		return
	}
	c := p.cluster
	p.valid = true
	p.number++
	clear(p.order)
	p.order = p.order[:0]
	p.sharing.Reset(entry.before)
	p.bound.Reset(entry.before)
	p.ratios.Reset(c.sharing.byRatio.Before)
	if c.capacity == 0 {
		p.stand()
		return
	}
	p.sharingVirtual, p.boundVirtual = c.sharing.virtualJobs, c.bound.virtualJobs
	p.begin = moment{seconds: c.seconds, integral: c.integral}
	p.at = p.virtualJobs(p.begin)
	p.weight = float64(c.weight)/weightUnits - p.sharingVirtual.total()
	p.caps = float64(c.caps) - p.boundVirtual.total()
	p.heads(c.sharing.byDue.First())
	p.heads(c.bound.byDue.First())
	p.ratios.Items = append(p.ratios.Items, c.sharing.byRatio.First()...)
}

// stand fills in the order if there is no capacity: no job makes progress.
func (p *projection) stand() {
	for _, s := range []*side{&p.cluster.sharing, &p.cluster.bound} {
		for _, k := range s.byDue.Items {
			p.order = append(p.order, k.jobs.Items...)
		}
	}
	slices.SortFunc(p.order, (*Job).compare)
	for _, j := range p.order {
		j.planned, j.ends = p.number, math.Inf(1)
	}
}

// next appends the job that finishes next to the order; it returns false if none is left.
func (p *projection) next() bool {
	for {
		p.sort()
		j, to, shared := p.first()
		switch {
		case j == nil:
			return false
		case math.IsInf(to.seconds, 1): // no other job finishes any more
			p.take(j, to, shared)
			return true
		case !p.bindUntil(to):
			p.take(j, to, shared)
			p.at = to
			p.finish(j)
			return true
		}
	}
}

// sort moves the next candidates to the right heap. A class that shares in the cluster, and is
// bound by now, is slower than the others that share, so its jobs come up too early.
func (p *projection) sort() {
	for len(p.sharing.Items) > 0 && p.of(p.sharing.Items[0].job.class).bound {
		j := p.sharing.Pop().job
		p.neighbours(j)
		p.offer(j)
	}
}

// first returns the job, other than a virtual job, that finishes next if no class becomes bound
// before, and when. It compares the work of the sharing jobs until the first of them finishes with
// what the capacity leaves for them until the first bound job finishes.
func (p *projection) first() (j *Job, to moment, shared bool) {
	s, b := entry{due: math.Inf(1)}, entry{due: math.Inf(1)}
	if len(p.sharing.Items) > 0 {
		s = p.sharing.Items[0]
	}
	if len(p.bound.Items) > 0 {
		b = p.bound.Items[0]
	}
	switch {
	case math.IsInf(s.due, 1) && math.IsInf(b.due, 1):
		if never := (moment{seconds: math.Inf(1)}); b.job == nil || s.job != nil && s.before(b) {
			return s.job, never, true
		} else {
			return b.job, never, false
		}
	case math.IsInf(b.due, 1):
		return s.job, p.sharedTo(s.due), true
	case math.IsInf(s.due, 1):
		return b.job, p.secondsTo(b.due), false
	}
	if to = p.sharedTo(s.due); to.seconds < b.due || to.seconds == b.due && s.job.compare(b.job) < 0 {
		return s.job, to, true
	}
	return b.job, p.secondsTo(b.due), false
}

// sharedTo returns the moment at which the level's integral reaches a value.
func (p *projection) sharedTo(integral float64) moment {
	if integral <= p.at.integral {
		return p.at
	}
	m := moment{integral: integral, sharing: p.sharingVirtual.at(integral, p.begin.integral)}
	work := float64(p.weight*(integral-p.at.integral)) + m.sharing.done - p.at.sharing.done
	m.seconds, m.bound = p.boundVirtual.reach(work, p.free(), -1, p.at.seconds, p.at.bound, p.begin.seconds)
	return m
}

// secondsTo returns the moment at a time.
func (p *projection) secondsTo(seconds float64) moment {
	if seconds <= p.at.seconds {
		return p.at
	}
	m := moment{seconds: seconds, bound: p.boundVirtual.at(seconds, p.begin.seconds)}
	work := float64(p.free()*(seconds-p.at.seconds)) - (m.bound.done - p.at.bound.done)
	m.integral, m.sharing = p.sharingVirtual.reach(work, p.weight, 1, p.at.integral, p.at.sharing, p.begin.integral)
	return m
}

// virtualJobs completes a moment with the progress of the virtual jobs.
func (p *projection) virtualJobs(m moment) moment {
	m.sharing = p.sharingVirtual.at(m.integral, p.begin.integral)
	m.bound = p.boundVirtual.at(m.seconds, p.begin.seconds)
	return m
}

// free is the slots that bound jobs leave, virtual jobs apart.
func (p *projection) free() float64 { return float64(p.cluster.capacity) - p.caps }

// levelAt is the level at a moment, without the virtual jobs that have ended by then.
func (p *projection) levelAt(m moment) float64 {
	weight := p.weight + m.sharing.left
	if weight < 0.5/weightUnits {
		return math.Inf(1)
	}
	return (p.free() - m.bound.left) / weight
}

// take appends a job to the order and adds the candidates that follow it.
func (p *projection) take(j *Job, at moment, shared bool) {
	p.order = append(p.order, j)
	j.planned, j.ends = p.number, at.seconds
	if shared {
		p.sharing.Pop()
	} else {
		p.bound.Pop()
	}
	if shared != j.class.bound { // it comes from the heap of its class's side
		p.neighbours(j)
	}
	for _, x := range j.class.jobs.Below(j.place) {
		p.offer(x)
	}
}

// finish takes a job's weight and cap off the sums at the current moment.
func (p *projection) finish(j *Job) {
	a := p.of(j.class)
	a.weight -= j.spec.Weight
	a.caps -= float64(j.spec.Cap)
	if a.bound {
		p.caps -= float64(j.spec.Cap)
	} else {
		p.weight -= j.spec.Weight
	}
	p.raise()
}

// offer records a job as a candidate for the next.
func (p *projection) offer(j *Job) {
	if a := p.of(j.class); a.bound {
		p.bound.Push(entry{reach(a.from, j.tag-a.base, j.class.ratio), j})
	} else {
		p.sharing.Push(entry{a.from + (j.tag - a.base), j})
	}
}

// neighbours records the classes that follow a job's class in its heap, if the job is the first of
// the class.
func (p *projection) neighbours(j *Job) {
	if j.place == 0 {
		p.heads(p.cluster.side(j.class).byDue.Below(j.class.byDue))
	}
}

// heads records the first jobs of classes as candidates, on the side where the cluster has them.
func (p *projection) heads(classes []*class) {
	for _, k := range classes {
		if e := (entry{k.due, k.first()}); k.bound {
			p.bound.Push(e)
		} else {
			p.sharing.Push(e)
		}
	}
}

// bindUntil binds the next class if the level reaches its ratio before a moment at which a job
// finishes. That happens when a virtual job ends.
func (p *projection) bindUntil(to moment) bool {
	if len(p.ratios.Items) == 0 || p.levelAt(to) < p.ratios.Items[0].ratio {
		return false
	}
	ratio, from := p.ratios.Items[0].ratio, p.at
	// The class is bound at the last end of these virtual jobs, or at an earlier one.
	at := p.sharedTo(p.sharingVirtual.latest(from.integral, to.integral))
	if b := p.secondsTo(p.boundVirtual.latest(from.seconds, to.seconds)); b.seconds > at.seconds {
		at = b
	}
	if s := p.sharedTo(p.sharingVirtual.find(from.integral, at.integral, func(due float64) bool {
		return p.levelAt(p.sharedTo(due)) >= ratio
	})); s.seconds < at.seconds {
		at = s
	}
	if b := p.secondsTo(p.boundVirtual.find(from.seconds, at.seconds, func(due float64) bool {
		return p.levelAt(p.secondsTo(due)) >= ratio
	})); b.seconds < at.seconds {
		at = b
	}
	p.at = at
	p.bind()
	p.raise()
	return true
}

// raise binds the classes whose ratio the level has reached.
func (p *projection) raise() {
	for len(p.ratios.Items) > 0 && p.ratios.Items[0].ratio <= p.levelAt(p.at) {
		p.bind()
	}
}

// bind binds the sharing class with the least ratio.
func (p *projection) bind() {
	k := p.ratios.Pop()
	for _, x := range p.cluster.sharing.byRatio.Below(k.byRatio) {
		p.ratios.Push(x)
	}
	a := p.of(k)
	p.weight -= a.weight
	p.caps += a.caps
	clock := a.base + (p.at.integral - a.from)
	for _, j := range k.virtuallyActive {
		if g := k.virtualJob(j); g.due > p.at.integral {
			p.sharingVirtual = p.sharingVirtual.remove(g.due, j)
			g.due, g.amount = reach(p.at.seconds, j.tag-clock, k.ratio), float64(j.spec.Cap)
			p.boundVirtual = p.boundVirtual.insert(g.with(nil, nil))
		}
	}
	a.base, a.from, a.bound = clock, p.at.seconds, true
	if len(k.virtuallyActive) > 0 {
		p.at = p.virtualJobs(p.at)
	}
}

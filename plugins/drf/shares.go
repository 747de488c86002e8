package drf

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/queueorder"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// amounts are amounts of all resources.
type amounts struct {
	slots     slots
	memory    int64 // bytes
	countable scheduler.Resources
}

// slots are how many slots of kinds, in order of kind.
type slots []scheduler.SlotCount

// at returns the place of a kind, and whether it is there.
func (s slots) at(kind scheduler.SlotKind) (int, bool) {
	for i := range s {
		if s[i].Kind >= kind {
			return i, s[i].Kind == kind
		}
	}
	return len(s), false
}

func (s slots) of(kind scheduler.SlotKind) int {
	if i, found := s.at(kind); found {
		return s[i].Count
	}
	return 0
}

func (s *slots) add(kind scheduler.SlotKind, n int) {
	i, found := s.at(kind)
	if !found {
		*s = slices.Insert(*s, i, scheduler.SlotCount{Kind: kind})
	}
	(*s)[i].Count += n
}

// add adds what n like groups take.
func (a *amounts) add(g *scheduler.Group, n int) {
	a.slots.add(g.Kind, n*g.Slots)
	a.memory += int64(n) * g.Memory
	a.countable = a.countable.Plus(g.Resources.Times(n))
}

// dominant returns the largest share of any resource, and the name of that: the first by name of kinds of slots, then
// memory, then other resources. A resource of which there is nothing has no share.
func (a *amounts) dominant(total *amounts) (share float64, of string) {
	for _, used := range a.slots {
		if all := total.slots.of(used.Kind); all > 0 && used.Count > 0 {
			if x := float64(used.Count) / float64(all); x > share {
				share, of = x, used.Kind
			}
		}
	}
	if share > 0 {
		of += " slots"
	}
	take := func(name string, used, all float64) {
		if all > 0 && used/all > share {
			share, of = used/all, name
		}
	}
	take("memory", float64(a.memory), float64(total.memory))
	for _, c := range a.countable.Counts() {
		take(c.Kind, float64(c.Count), float64(total.countable.Of(c.Kind)))
	}
	return share, of
}

// pool is a pool of jobs, with what its attempts hold.
type pool struct {
	name   string
	weight float64
	used   amounts

	waiting []*view.Job // those that may have something to launch, in order
	planned bool        // it is a copy, with what a pass launches
	share   float64     // of used, if it is known
	known   bool

	// Memory that passes use again: the copy, and the job of the turn.
	copied *pool
	last   *job
}

// plan returns a copy for what a pass launches.
func (p *pool) plan() *pool {
	if p.copied == nil {
		p.copied = &pool{}
	}
	c := p.copied
	kept := append(c.used.slots[:0], p.used.slots...)
	*c = *p
	c.planned, c.used.slots = true, kept
	return c
}

// shareOf is the pool's dominant share, divided by its weight.
func (p *pool) shareOf(total *amounts) float64 {
	if !p.known {
		s, _ := p.used.dominant(total)
		p.share, p.known = s/p.weight, true
	}
	return p.share
}

// count adds what n like groups take.
func (p *pool) count(g *scheduler.Group, n int) {
	p.used.add(g, n)
	p.known = false
}

// trim drops jobs that have nothing to launch from the queue's front. Others that have nothing stay in it until they come
// there, or end.
func (p *pool) trim() {
	n := 0
	for n < len(p.waiting) && p.waiting[n].LaunchableCount() == 0 {
		n++
	}
	p.waiting = slices.Delete(p.waiting, 0, n)
}

// describe tells a person the pool's dominant share.
func (p *pool) describe(total *amounts) string {
	s, of := p.used.dominant(total)
	return fmt.Sprintf("dominant share %.3f of %s, weight %g", s, cmp.Or(of, "nothing"), p.weight)
}

// state is what pools hold, and which jobs wait. It follows from the view, so no checkpoint keeps it.
type state struct {
	total amounts              // of the launchers that are not closed
	kinds []scheduler.SlotKind // that they have, in order
	pools map[string]*pool
	order []*pool                   // those with jobs that ever waited, by name
	in    map[scheduler.JobID]*pool // jobs in the queues of pools
	turns []turn                    // memory of a pass
}

// poolOf is the name of a job's pool.
func poolOf(j *view.Job) string { return cmp.Or(j.Info.Pool, defaultPool) }

// pool returns a pool, which it makes at the first use.
func (s *state) pool(name string, o *Options) *pool {
	p := s.pools[name]
	if p == nil {
		p = &pool{name: name, weight: o.weight(name)}
		s.pools[name] = p
	}
	return p
}

// rebuild counts everything anew.
func (s *state) rebuild(v *view.View, o *Options) {
	*s = state{pools: map[string]*pool{}, in: map[scheduler.JobID]*pool{}}
	for _, j := range v.Jobs() {
		for _, a := range j.Attempts() {
			s.enter(a, o)
		}
		if j.LaunchableCount() > 0 {
			s.enqueue(j, o)
		}
	}
	s.count(v)
}

// enqueue puts a job into its pool's queue.
func (s *state) enqueue(j *view.Job, o *Options) {
	p := s.pool(poolOf(j), o)
	s.in[j.ID()] = p
	if i, found := slices.BinarySearchFunc(p.waiting, j, queueorder.ByPriority); !found {
		p.waiting = slices.Insert(p.waiting, i, j)
	}
	if i, found := slices.BinarySearchFunc(s.order, p.name, func(p *pool, name string) int { return cmp.Compare(p.name, name) }); !found {
		s.order = slices.Insert(s.order, i, p)
	}
}

// waits enqueues a job that may have something to launch; nil is one that ended in the same round.
func (s *state) waits(j *view.Job, o *Options) {
	if j != nil {
		s.enqueue(j, o)
	}
}

// dequeue removes a job that ended.
func (s *state) dequeue(id scheduler.JobID) {
	if p := s.in[id]; p != nil {
		p.waiting = slices.DeleteFunc(p.waiting, func(j *view.Job) bool { return j.ID() == id })
		delete(s.in, id)
	}
}

// count sums what launchers have.
func (s *state) count(v *view.View) {
	s.total, s.kinds = amounts{}, s.kinds[:0]
	open := v.Capacity.OpenSlots()
	for _, kind := range slices.Sorted(maps.Keys(open)) {
		s.total.slots.add(kind, open[kind])
		s.kinds = append(s.kinds, kind)
	}
	for _, p := range s.pools { // each alone
		p.known = false
	}
	for _, l := range v.Launchers() {
		if !l.Closed() {
			s.total.memory += l.Memory
			s.total.countable = s.total.countable.Plus(l.Resources)
		}
	}
}

// enter counts an attempt for its job's pool, which is the attempt's Owner from then on.
func (s *state) enter(a *view.Attempt, o *Options) {
	s.leave(a)
	p := s.pool(poolOf(a.Job()), o)
	p.count(a.Need, 1)
	a.Owner = p
}

// leave counts an attempt no more.
func (s *state) leave(a *view.Attempt) {
	if p, _ := a.Owner.(*pool); p != nil {
		p.count(a.Need, -1)
		a.Owner = nil
	}
}

// poolsKept is how many pools without jobs are kept at least.
const poolsKept = 64

// apply follows the events of a round.
func (s *state) apply(p *pass) {
	v, o := p.View(), p.Options()
	moved := p.OptionsChanged()
	for _, e := range p.Events() {
		switch e := e.(type) {
		case scheduler.JobUpdated:
			moved = true
		case scheduler.JobFinished:
			s.dequeue(e.Job)
		case scheduler.BundleReady:
			s.waits(v.Job(e.Job), &o)
		case scheduler.SpeculationOffered:
			s.waits(v.Job(e.Job), &o)
		case scheduler.Outcome:
			if e.Accepted && e.Kind == scheduler.DecisionLaunch {
				for _, id := range e.Attempts {
					if a := v.LiveOrEnded(id); a != nil && !a.Ahead {
						s.enter(a, &o)
					}
				}
			}
		case scheduler.AttemptTookSlots:
			if a := v.LiveOrEnded(e.Attempt); a != nil {
				s.enter(a, &o)
			}
		}
	}
	for _, x := range p.Ended() {
		s.leave(x.Attempt)
	}
	switch {
	case moved, len(s.pools) > 2*len(v.Jobs())+poolsKept: // a job may be in another pool, a pool have another weight or no jobs
		s.rebuild(v, &o)
	case v.LaunchersChanged():
		s.count(v)
	}
}

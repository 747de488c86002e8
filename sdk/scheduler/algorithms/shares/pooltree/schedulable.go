package pooltree

import (
	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares"
)

// Schedulable is a pool or a job for one kind of slot. Shares are computed for it, and it is
// ordered among its siblings.
type Schedulable struct {
	*Node
	Running int     // slots held
	Min     int     // minimum share
	Max     int     // maximum share; 0: none
	Weight  float64 // change it with SetWeight
	// Share is the fair share that Divide computed last.
	Share float64

	ready int // of a job: slots that its waiting work needs
	wants int // of a pool: demand of all children together
	above *Schedulable

	// Data for the pool's queue. A change compares a few neighbours in it, so all that orders
	// compare is here, together in memory, and not in the node.
	place  int // index in above.queue
	ratio  float64
	start  scheduler.Time
	id     scheduler.JobID // 0: a pool
	needy  bool
	scarce bool // below its guaranteed slots
	passed bool

	scaled     bool // its minimum is scaled down: see Guarantee
	guaranteed int  // if scaled, the slots left of its minimum
	timed      bool

	// Of a pool: its order, and its waiting children.
	order Order
	queue []*Schedulable
	// The orders' state of a pool, and of a child in it.
	laps     lapping
	accounts accounts
	turn     struct{ lap uint64 }
	account  account
}

const noPlace = -1

// Prefetch reads the node's Schedulable of a kind into the cache: see package prefetch.
func (n *Node) Prefetch(k Kind) byte {
	if int(k) >= len(n.kinds) {
		return 0
	}
	return prefetch.All(n.kinds[k])
}

// IsJob says whether the node is a job.
func (s *Schedulable) IsJob() bool { return s.id != 0 }

// Demand returns the slots it holds and wants, at most its maximum.
func (s *Schedulable) Demand() int {
	d := s.Running + s.ready
	if !s.IsJob() {
		d = s.wants
	}
	if s.Max > 0 {
		d = min(d, s.Max)
	}
	return d
}

// Ready returns the slots that a job's work waits for.
func (s *Schedulable) Ready() int { return s.ready }

// AtMax says whether so many more slots would exceed its maximum, or that of a pool above it.
func (s *Schedulable) AtMax(slots int) bool {
	for x := s; x != nil; x = x.above {
		if x.Max > 0 && x.Running+slots > x.Max {
			return true
		}
	}
	return false
}

// Rank returns what the fair order looks at.
func (s *Schedulable) Rank() shares.Rank {
	return shares.Rank{
		Running: float64(s.Running), Demand: float64(s.Demand()), Min: float64(s.Min), Weight: s.Weight,
		Priority: int32(s.Priority), Start: int64(s.Start), Name: s.Path,
	}
}

// Set sets the slots that a job holds, and those that its waiting work needs.
func (s *Schedulable) Set(running, ready int) {
	more, before := running-s.Running, s.Demand()
	if more == 0 && ready == s.ready {
		return
	}
	s.Running, s.ready = running, ready
	s.changed(more, s.Demand()-before)
}

// Take moves slots of a job from waiting to running.
func (s *Schedulable) Take(slots int) {
	for x := s; x.above != nil; x = x.above {
		x.above.order.Served(x.above, x)
	}
	s.Set(s.Running+slots, max(s.ready-slots, 0))
}

// SetWeight changes the weight.
func (s *Schedulable) SetWeight(w float64) {
	if w != s.Weight {
		s.Weight = w
		s.changed(0, 0)
	}
}

// changed updates the tree above after a change of running slots and demand.
func (s *Schedulable) changed(running, demand int) {
	for x := s; ; x = x.above {
		x.rank()
		x.requeue()
		up := x.above
		if up == nil {
			return
		}
		up.keep(x)
		before := up.Demand()
		up.Running += running
		up.wants += demand
		demand = up.Demand() - before
	}
}

// rank computes what the fair order compares.
func (s *Schedulable) rank() {
	st := shares.Rank{Running: float64(s.Running), Demand: float64(s.Demand()), Min: float64(s.Min), Weight: s.Weight}
	s.needy, s.ratio = st.Needy(), st.Ratio()
	s.scarce = s.needy && (!s.scaled || s.Running < s.guaranteed)
}

// willing says whether it waits for slots and may have more.
func (s *Schedulable) willing() bool {
	if s.passed || s.Max > 0 && s.Running >= s.Max {
		return false
	}
	if s.IsJob() {
		return s.ready > 0
	}
	return len(s.queue) > 0
}

// requeue puts it into its place in its pool's queue, or removes it.
func (s *Schedulable) requeue() {
	if s.above == nil {
		return
	}
	q := s.above
	switch want := s.willing(); {
	case want && s.place == noPlace:
		q.order.Enter(q, s)
		q.push(s)
	case want:
		q.fix(s.place)
	case s.place != noPlace:
		q.remove(s.place)
		q.order.Leave(q, s)
	}
}

package fair

import (
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
)

// starvation is since when a pool is below its shares of one kind of slot; 0: it
// is not. It is looked at in updates only.
type starvation struct {
	Min  scheduler.Time // its minimum share
	Fair scheduler.Time // the part of its fair share that the threshold says
}

// slack keeps rounding from making a share of 2 one slot.
const slack = 1e-6

// update computes the fair shares of all pools and looks who is below. It never
// looks at jobs.
func (p *Policy) update() {
	now := p.view.Now()
	p.tree.Advance(now.Sub(p.memory.Advanced))
	p.memory.Advanced, p.stale = now, true
	for _, k := range p.world.order {
		p.tree.Divide(k, p.world.total[k])
		for _, n := range p.tree.Pools() {
			p.pools[n.Path].look(n.Of(k), k, now, p.options.threshold)
		}
	}
	p.trace.update(p)
}

// look notes since when a pool is starved (design document, section 4.5).
func (x *pool) look(s *pooltree.Schedulable, k pooltree.Kind, now scheduler.Time, threshold float64) {
	was := x.starved[k]
	var is starvation
	if belowMin(s) {
		is.Min = now
		if was.Min != 0 {
			is.Min = was.Min
		}
	}
	if belowFair(s, threshold) {
		is.Fair = now
		if was.Fair != 0 {
			is.Fair = was.Fair
		}
	}
	if is == (starvation{}) {
		delete(x.starved, k)
	} else {
		x.starved[k] = is
	}
}

func belowMin(s *pooltree.Schedulable) bool { return s.Running < min(s.Min, s.Demand()) }

// belowFair says whether a pool has less than a part of its fair share, and could
// have at least one slot more before it has all of it. The original rounds the
// part down, so that a share of less than two slots is never missed.
func belowFair(s *pooltree.Schedulable, threshold float64) bool {
	return float64(s.Running) < float64(threshold*s.Share)-slack && s.Running < wholeShare(s)
}

// wholeShare is the slots of a fair share: what a pool may take back, and what it
// is left when others do.
func wholeShare(s *pooltree.Schedulable) int {
	return int(math.Floor(min(s.Share, float64(s.Demand())) + slack))
}

// due returns how many slots of a kind a pool may take back now: what it lacks to
// its minimum share, or to its fair share, if it has for longer than the timeout.
func (p *Policy) due(x *pool, k pooltree.Kind) int {
	s, since := x.node.Of(k), x.starved[k]
	minTimeout, fairTimeout := p.options.alloc.timeouts(x.spec)
	n := 0
	if p.overdue(since.Min, minTimeout) {
		n = min(s.Min, s.Demand()) - s.Running
	}
	if p.overdue(since.Fair, fairTimeout) {
		n = max(n, wholeShare(s)-s.Running)
	}
	return max(n, 0)
}

// overdue says whether something has lasted longer than a timeout.
func (p *Policy) overdue(since scheduler.Time, timeout time.Duration) bool {
	return since != 0 && timeout != never && p.view.Now().Sub(since) > timeout
}

// starvedFor says whether slots may be taken back for a job's pool, or one it is
// in: then it does not wait for locality either.
func (p *Policy) starvedFor(j *job, k pooltree.Kind) bool {
	if p.options.preemption == preemptOff || !p.timeouts {
		return false
	}
	for x := j.pool; x != nil; x = p.pools[x.spec.parent] {
		minTimeout, fairTimeout := p.options.alloc.timeouts(x.spec)
		if since := x.starved[k]; p.overdue(since.Min, minTimeout) || p.overdue(since.Fair, fairTimeout) {
			return true
		}
	}
	return false
}

// starvedPools lists what is starved, in order, for the memory.
func (p *Policy) starvedPools() []starvedPool {
	var all []starvedPool
	for _, n := range p.tree.Pools() {
		x := p.pools[n.Path]
		kinds := make([]pooltree.Kind, 0, len(x.starved))
		for k := range x.starved {
			kinds = append(kinds, k)
		}
		slices.SortFunc(kinds, func(a, b pooltree.Kind) int { return p.world.compareKinds(a, b) })
		for _, k := range kinds {
			all = append(all, starvedPool{n.Path, p.world.kinds[k], x.starved[k]})
		}
	}
	return all
}

// recallStarved takes what is starved from the memory, once.
func (p *Policy) recallStarved() {
	for _, s := range p.memory.Starved {
		if x := p.pools[s.Pool]; x != nil {
			x.starved[p.world.kind(s.Kind)] = s.Since
		}
	}
	p.memory.Starved = nil
}

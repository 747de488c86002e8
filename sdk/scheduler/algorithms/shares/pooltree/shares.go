package pooltree

import (
	"math"

	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares"
)

// Divide computes the fair share of every pool of a total of slots of a kind, from
// the root down, into Share. Jobs are not looked at.
func (t *Tree) Divide(k Kind, total int) {
	r := t.root.Of(k)
	r.Share = float64(total)
	var d divider
	d.divide(r, k)
}

// Whole returns the whole slots of a fair share, as far as it can use them.
func (s *Schedulable) Whole() int { return int(math.Floor(min(s.Share, float64(s.Demand())) + slack)) }

// slack keeps rounding from making a share of 2 one slot.
const slack = 1e-6

// Guaranteed returns the slots of its minimum share that a pool is guaranteed by the shares that
// Divide computed last. Minimums that add up to more than the slots are scaled down by the
// division, at each level of the tree. A fair share is below the minimum only then. What is left of
// rounding down is guaranteed to nobody: pools would take it from each other for ever.
func (s *Schedulable) Guaranteed() int { return min(s.Min, s.Whole()) }

// Guarantee has orders serve pools by the shares that Divide computed last, where minimums are
// scaled down. Pools below their guaranteed slots come first. Without it a pool could get the slot
// that another would then take back.
func (t *Tree) Guarantee(k Kind) {
	for _, n := range t.Pools() {
		s := n.Of(k)
		scaled, slots := s.Share < float64(min(s.Min, s.Demand()))-slack, 0
		if scaled {
			slots = s.Guaranteed()
		}
		if scaled != s.scaled || slots != s.guaranteed {
			s.scaled, s.guaranteed = scaled, slots
			s.changed(0, 0)
		}
	}
}

// divider keeps its slices from pool to pool.
type divider struct {
	sharers []shares.Sharer
	shares  []float64
}

func (d *divider) divide(s *Schedulable, k Kind) {
	if len(s.pools) == 0 {
		return
	}
	d.sharers = d.sharers[:0]
	for _, p := range s.pools {
		d.sharers = append(d.sharers, p.Of(k).Sharer())
	}
	for len(d.shares) < len(d.sharers) {
		d.shares = append(d.shares, 0)
	}
	for i, share := range shares.DivideInto(d.shares[:len(d.sharers)], s.Share, d.sharers) {
		s.pools[i].Of(k).Share = share
	}
	for _, p := range s.pools {
		d.divide(p.Of(k), k)
	}
}

// Sharer returns what a share is computed from.
func (s *Schedulable) Sharer() shares.Sharer {
	return shares.Sharer{Demand: float64(s.Demand()), Min: float64(s.Min), Max: float64(s.Max), Weight: s.Weight}
}

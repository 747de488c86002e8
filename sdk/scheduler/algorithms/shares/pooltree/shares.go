package pooltree

import (
	"math"

	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares"
)

// Divide computes the fair share of every pool of a total of slots of a kind, from the root down,
// into Share. Jobs get no Share.
func (t *Tree) Divide(k Kind, total int) {
	r := t.root.Of(k)
	r.Share = float64(total)
	var d divider
	d.divide(r, k)
}

// Whole returns the fair share in whole slots, at most the demand.
func (s *Schedulable) Whole() int { return int(math.Floor(min(s.Share, float64(s.Demand())) + slack)) }

// slack keeps rounding from making a share of 2 one slot.
const slack = 1e-6

// Guaranteed returns the slots of its minimum share that a pool is guaranteed by the shares that
// Divide computed last. If minimums add up to more than the slots, the division scales them down,
// at each level of the tree. Only then is a fair share below the minimum. Slots lost by rounding
// down are guaranteed to no pool, since pools would take them from each other for ever.
func (s *Schedulable) Guaranteed() int { return min(s.Min, s.Whole()) }

// Guarantee makes orders serve pools by the shares that Divide computed last, if minimums are
// scaled down. Pools below their guaranteed slots come first. Otherwise a pool could get a slot
// that another then takes back.
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

// divider reuses its slices from pool to pool.
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

// Sharer returns the input of the division for it.
func (s *Schedulable) Sharer() shares.Sharer {
	return shares.Sharer{Demand: float64(s.Demand()), Min: float64(s.Min), Max: float64(s.Max), Weight: s.Weight}
}

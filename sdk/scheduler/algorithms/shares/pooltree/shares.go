package pooltree

import "github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares"

// Divide computes the fair share of every pool of a total of slots of a kind, from
// the root down, into Share. Jobs are not looked at.
func (t *Tree) Divide(k Kind, total int) {
	r := t.root.Of(k)
	r.Share = float64(total)
	var d divider
	d.divide(r, k)
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

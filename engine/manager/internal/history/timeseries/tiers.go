// Package timeseries keeps samples of what pools and the cluster do: coarser, the longer ago.
//
// # Invariants
//
// A row of a coarser tier is the exact sum of the samples in its time, and has their number. Times
// without samples have no row: a manager that was down is a gap, not a zero.
//
// Each second, the load of pools and the free slots are sampled from the change rows, with the
// policy's last status: what each pool holds, could use, and has as its share. Tiers are: each
// second for ten minutes, each ten seconds for four hours, each two minutes for a week.
package timeseries

import (
	"slices"
	"time"
)

// Tier is how often there is a row, and for how long it is kept.
type Tier struct{ Every, Keep time.Duration }

// Tiers are those that are kept, the finest first. Each is a multiple of the one before.
var Tiers = [...]Tier{
	{time.Second, 10 * time.Minute},
	{10 * time.Second, 4 * time.Hour},
	{2 * time.Minute, 7 * 24 * time.Hour},
}

// Pool is what a pool does, summed over a row's samples.
type Pool struct {
	Name    string
	Jobs    uint64 // that live
	Asked   uint64 // of them waiting to be admitted
	Running uint64 // attempts
	Ready   uint64 // bundles that wait for slots

	// What the policy told of it, in slots of all kinds.
	Told   uint64 // samples of which it did
	Held   uint64
	Own    uint64 // of these, slots that no pool in it held
	Demand uint64
	Share  uint64 // its fair share, ShareUnit a slot
}

// Row is what was sampled in a time.
type Row struct {
	At      int64 // in seconds since 1970: the beginning of the time
	Samples uint64
	Slots   uint64 // of launchers that are up, summed
	Free    uint64
	Pools   []Pool // that did anything, in order of name
}

// PoolsMax bounds the pools of a row. Those beyond it, in order of name, are counted together in
// one, which is called Others.
const PoolsMax = 500

// Others is the name under which pools beyond PoolsMax are counted.
const Others = "(others)"

// Bounded returns a row with no more than PoolsMax pools, and Others.
func (r Row) Bounded() Row {
	if len(r.Pools) <= PoolsMax {
		return r
	}
	others := Pool{Name: Others}
	for _, p := range r.Pools[PoolsMax:] {
		others.add(p)
	}
	r.Pools = append(slices.Clone(r.Pools[:PoolsMax]), others)
	return r
}

func (p *Pool) add(o Pool) {
	p.Jobs, p.Asked, p.Running, p.Ready = p.Jobs+o.Jobs, p.Asked+o.Asked, p.Running+o.Running, p.Ready+o.Ready
	p.Told, p.Held, p.Own, p.Demand, p.Share = p.Told+o.Told, p.Held+o.Held, p.Own+o.Own, p.Demand+o.Demand, p.Share+o.Share
}

// add sums another row's samples.
func (r *Row) add(o Row) {
	r.Samples, r.Slots, r.Free = r.Samples+o.Samples, r.Slots+o.Slots, r.Free+o.Free
	at := 0 // mostly both have the same pools
	for _, p := range o.Pools {
		if at >= len(r.Pools) || r.Pools[at].Name != p.Name {
			i, found := slices.BinarySearchFunc(r.Pools, p.Name, byName)
			if at = i; !found {
				r.Pools = slices.Insert(r.Pools, i, Pool{Name: p.Name})
			}
		}
		r.Pools[at].add(p)
		at++
	}
}

// slot is the beginning of the time that a second is in.
func (t Tier) slot(at int64) int64 {
	every := int64(t.Every / time.Second)
	return at - at%every
}

// Done is a row that gets no more samples.
type Done struct {
	Tier int
	Row  Row
}

// summing holds the rows that get samples still, one for each tier.
type summing struct {
	open [len(Tiers)]Row // Samples 0: none
}

// add takes a sample in, and returns the rows that it ends, of the finest tier first. A time before
// that of the last sample counts as that.
func (s *summing) add(sample Row) (done []Done) {
	for i, t := range Tiers {
		o, slot := &s.open[i], t.slot(sample.At)
		if o.Samples > 0 && slot > o.At {
			done = append(done, Done{i, *o})
			*o = Row{}
		}
		if o.Samples == 0 {
			*o = Row{At: slot}
		}
		o.add(sample)
	}
	return done
}

// resume goes on with a tier's row that a process left open, by a row of the finer tier in its
// time. It is called for the finer tiers first, and with rows in order.
func (s *summing) resume(tier int, r *Row) {
	if slot := Tiers[tier].slot(r.At); s.open[tier].Samples == 0 || slot > s.open[tier].At {
		s.open[tier] = Row{At: slot}
	}
	s.open[tier].add(*r)
}

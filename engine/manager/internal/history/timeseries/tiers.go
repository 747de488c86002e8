// Package timeseries keeps samples of the load of pools and the cluster. The older they are, the coarser.
//
//	s, err := timeseries.Open("data/history/series.db", log)
//	err = s.Add(sample)                              // each second
//	rows, every, err := s.Rows(1, from, until, 300)  // of the tier of ten seconds
//
// # Invariants
//
// A row of a coarser tier is the exact sum of the samples in its time, and has their number. Times without samples have
// no row: a manager that was down is a gap, not a zero.
//
// A sample has each pool's load and the free slots by change rows. From the policy's last status it has the slots that
// each pool holds, could use, and has as its share. Tiers are: each second for ten minutes, each ten seconds for four
// hours, each two minutes for a week.
package timeseries

import (
	"slices"
	"time"
)

// Tier is the time from one row to the next, and how long a row is kept.
type Tier struct{ Every, Keep time.Duration }

// Tiers are all tiers, the finest first. The time of each is a multiple of that before.
var Tiers = [...]Tier{
	{time.Second, 10 * time.Minute},
	{10 * time.Second, 4 * time.Hour},
	{2 * time.Minute, 7 * 24 * time.Hour},
}

// Pool is the load of a pool, summed over a row's samples.
type Pool struct {
	Name    string
	Jobs    uint64 // live ones
	Asked   uint64 // jobs that wait to be admitted
	Running uint64 // attempts that run
	Ready   uint64 // bundles that wait for slots

	// From the policy's status, in slots of all kinds.
	Told   uint64 // samples that have these fields
	Held   uint64
	Own    uint64 // held slots that none of its sub-pools holds
	Demand uint64
	Share  uint64 // its fair share, ShareUnit a slot
}

// Row is the sum of the samples of a time.
type Row struct {
	At      int64 // begin of the time, in seconds since 1970
	Samples uint64
	Slots   uint64 // of launchers that are up, summed
	Free    uint64
	Pools   []Pool // those with any load, in order of name
}

// PoolsMax bounds the pools of a row. The pools beyond it, in order of name, are summed in one, named Others.
const PoolsMax = 500

// Others is the name of the sum of pools beyond PoolsMax.
const Others = "(others)"

// Bounded returns a row with at most PoolsMax pools, and Others.
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

// add adds another row's samples.
func (r *Row) add(o Row) {
	r.Samples, r.Slots, r.Free = r.Samples+o.Samples, r.Slots+o.Slots, r.Free+o.Free
	at := 0 // usually both have the same pools
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

// slot is the begin of the row's time that a second belongs to.
func (t Tier) slot(at int64) int64 {
	every := int64(t.Every / time.Second)
	return at - at%every
}

// ClosedRow is a row that gets no more samples.
type ClosedRow struct {
	Tier int
	Row  Row
}

// accumulator has the rows that still get samples, one for each tier.
type accumulator struct {
	open [len(Tiers)]Row // Samples 0: none
}

// add adds a sample, and returns the rows that it closes, the finest tier first. A sample that is older than the one
// before is added to the open rows.
func (s *accumulator) add(sample Row) (done []ClosedRow) {
	for i, t := range Tiers {
		o, slot := &s.open[i], t.slot(sample.At)
		if o.Samples > 0 && slot > o.At {
			done = append(done, ClosedRow{i, *o})
			*o = Row{}
		}
		if o.Samples == 0 {
			*o = Row{At: slot}
		}
		o.add(sample)
	}
	return done
}

// resume rebuilds the open row of a tier by a row of the finer tier, after a start. Call it for the finer tiers first, and
// with rows in order of time.
func (s *accumulator) resume(tier int, r *Row) {
	if slot := Tiers[tier].slot(r.At); s.open[tier].Samples == 0 || slot > s.open[tier].At {
		s.open[tier] = Row{At: slot}
	}
	s.open[tier].add(*r)
}

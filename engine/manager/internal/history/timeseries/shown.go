package timeseries

import (
	"cmp"
	"slices"
	"time"
)

// ShareUnit is how much of Pool.Share a slot is.
const ShareUnit = 1000

// Pool is what a row has of a pool; nothing of one that it does not have.
func (r *Row) Pool(name string) Pool {
	if i, found := slices.BinarySearchFunc(r.Pools, name, byName); found {
		return r.Pools[i]
	}
	return Pool{Name: name}
}

func byName(p Pool, name string) int { return cmp.Compare(p.Name, name) }

// Only takes all pools but one out of rows.
func Only(rows []Row, name string) {
	for i := range rows {
		p := rows[i].Pool(name)
		if rows[i].Pools = nil; p != (Pool{Name: name}) {
			rows[i].Pools = []Pool{p}
		}
	}
}

// Coarse sums rows of a tier, so that there are at most so many for all that the tier keeps. Each time is a multiple
// of that from one sum to the next, so that the same samples are summed when they are asked for again later.
type Coarse struct {
	tier   Tier
	points int
	sums   []Row
}

// NewCoarse sums rows of a tier to so many points.
func NewCoarse(of Tier, points int) *Coarse {
	all := int(of.Keep / of.Every)
	// One of the times may have begun before the first row.
	return &Coarse{Tier{Every: of.Every * time.Duration(max(1, (all+max(points-1, 1)-1)/max(points-1, 1)))}, points, nil}
}

// Add adds a row behind those before.
func (c *Coarse) Add(r *Row) {
	if n := len(c.sums); n == 0 || c.sums[n-1].At != c.tier.slot(r.At) {
		c.sums = append(c.sums, Row{At: c.tier.slot(r.At)})
	}
	c.sums[len(c.sums)-1].add(*r)
}

// Rows are the sums, and the time from one to the next.
func (c *Coarse) Rows() ([]Row, time.Duration) {
	return c.sums[max(0, len(c.sums)-c.points):], c.tier.Every
}

// Largest lists the pools with most to do in all rows together, in order of name, and says how many others
// there are.
func Largest(rows []Row, most int) (names []string, left int) {
	does := map[string]uint64{}
	for _, r := range rows {
		for _, p := range r.Pools {
			does[p.Name] += p.Running + p.Ready + p.Demand
		}
	}
	for name := range does {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(does[b], does[a]), cmp.Compare(a, b)) })
	left = max(0, len(names)-most)
	names = names[:len(names)-left]
	slices.Sort(names)
	return names, left
}

package timeseries

import (
	"cmp"
	"slices"
	"time"
)

// ShareUnit is how much of Pool.Share a slot is.
const ShareUnit = 1000

// Pool returns a pool of the row; without load if the row does not have it.
func (r *Row) Pool(name string) Pool {
	if i, found := slices.BinarySearchFunc(r.Pools, name, byName); found {
		return r.Pools[i]
	}
	return Pool{Name: name}
}

func byName(p Pool, name string) int { return cmp.Compare(p.Name, name) }

// KeepPool removes all pools but one from rows.
func KeepPool(rows []Row, name string) {
	for i := range rows {
		p := rows[i].Pool(name)
		if rows[i].Pools = nil; p != (Pool{Name: name}) {
			rows[i].Pools = []Pool{p}
		}
	}
}

// Coarse sums rows of a tier, so that all rows of the tier come to a number of points at most. The begin of each sum is a
// multiple of the time between sums. So a later request sums the same samples.
type Coarse struct {
	tier   Tier
	points int
	sums   []Row
}

// NewCoarse returns a Coarse for rows of a tier, with at most points sums.
func NewCoarse(of Tier, points int) *Coarse {
	all := int(of.Keep / of.Every)
	// The first sum may have begun before the first row, so it takes a point of its own.
	return &Coarse{Tier{Every: of.Every * time.Duration(max(1, (all+max(points-1, 1)-1)/max(points-1, 1)))}, points, nil}
}

// Add adds a row. Rows come in order of time.
func (c *Coarse) Add(r *Row) {
	if n := len(c.sums); n == 0 || c.sums[n-1].At != c.tier.slot(r.At) {
		c.sums = append(c.sums, Row{At: c.tier.slot(r.At)})
	}
	c.sums[len(c.sums)-1].add(*r)
}

// Rows returns the sums, and the time from one to the next.
func (c *Coarse) Rows() ([]Row, time.Duration) {
	return c.sums[max(0, len(c.sums)-c.points):], c.tier.Every
}

// LargestPools lists the pools with the highest load in all rows together, at most a number of them, in order of name. Left is
// how many others there are.
func LargestPools(rows []Row, most int) (names []string, left int) {
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

package pooltree

import (
	"cmp"
	"math"
	"time"
)

// deficit serves first the child with the largest deficit: its weighted fair part of the service so
// far, less the service that it got. A deficit grows while a child waits below the others, and is
// constant while the child wants nothing. It is Disco's fair policy (Souza and Garcia, section 2),
// and Hadoop's first fair scheduler.
//
// Per weight, the service due is the same for all children, so the child with the largest deficit
// got the least service. Waiting children keep their order while only the clock moves. Time costs
// work only for running children. Sums are of whole numbers, which come out the same in any order.
type deficit struct{}

// accounts is deficit's state of a pool.
type accounts struct {
	clock   int64          // service due to a child of weight 1, in slot microseconds
	weight  int64          // of the children with demand, in parts
	members []*Schedulable // all children
	busy    []*Schedulable // the children with running slots
}

// account is deficit's state of a child.
type account struct {
	service int64 // service that it got, by weight; while it waits
	deficit int64 // service due less service got, by weight; while it does not wait
	weight  int64 // its part of the pool's weight
	busy    int   // 1 + index in the pool's busy; 0: not there
}

func (deficit) Less(a, b *Schedulable) bool {
	return cmp.Or(cmp.Compare(a.account.service, b.account.service), elder(a, b)) < 0
}

func (deficit) Enter(pool, child *Schedulable) {
	child.account.service = pool.accounts.clock - child.account.deficit
}

func (deficit) Leave(pool, child *Schedulable) {
	child.account.deficit = pool.accounts.clock - child.account.service
}

func (deficit) Served(_, _ *Schedulable) {}

func (deficit) Advance(pool *Schedulable, by time.Duration) {
	a := &pool.accounts
	if a.weight == 0 {
		return
	}
	for _, c := range a.busy {
		if c.place != noPlace { // otherwise it wants no more slots, and its deficit is constant
			c.account.service += slotTime(c.Running, by, c.account.weight)
			pool.fix(c.place)
		}
	}
	a.clock += slotTime(pool.Running, by, a.weight)
}

// parts is the precision of whole-number weights.
const parts = 1 << 10

// slotTime is slots times duration, by weight, in slot microseconds.
func slotTime(slots int, by time.Duration, weight int64) int64 {
	return int64(math.Round(float64(float64(slots)*float64(by.Microseconds())) * parts / float64(weight)))
}

// keep updates a pool's accounts for a child.
func (s *Schedulable) keep(c *Schedulable) {
	if !s.timed {
		return
	}
	a := &s.accounts
	weight := int64(0)
	if c.Demand() > 0 {
		weight = max(int64(math.Round(float64(c.Weight*parts))), 1)
	}
	a.weight += weight - c.account.weight
	c.account.weight = weight
	switch at := c.account.busy; {
	case c.Running > 0 && at == 0:
		a.busy = append(a.busy, c)
		c.account.busy = len(a.busy)
	case c.Running == 0 && at > 0:
		last := a.busy[len(a.busy)-1]
		a.busy[at-1], last.account.busy = last, at
		a.busy = a.busy[:len(a.busy)-1]
		c.account.busy = 0
	}
}

// owed returns a child's deficit, waiting or not.
func (s *Schedulable) owed() int64 {
	if s.place != noPlace {
		return s.above.accounts.clock - s.account.service
	}
	return s.account.deficit
}

// Advance lets time pass in the pools whose order depends on it.
func (t *Tree) Advance(by time.Duration) {
	for _, p := range t.timed {
		for _, s := range p.kinds {
			if s != nil {
				p.pool.Order.(Timed).Advance(s, by)
			}
		}
	}
}

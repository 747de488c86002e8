package pooltree

import (
	"cmp"
	"math"
	"time"
)

// deficit serves first the child that is owed most: what it should have had, were all treated alike
// by weight, less what it got. A deficit grows while a child waits below the others, and stands
// still while it wants nothing. It is Disco's fair policy (Souza and Garcia, section 2), and
// Hadoop's first fair scheduler.
//
// The service due is the same for all by weight, so the child that is owed most by weight got
// least. Waiting children keep their order while only the clock moves. Time costs work only for
// those that run. Sums are of whole numbers, which come out the same in any order.
type deficit struct{}

// accounts is what deficit remembers of a pool.
type accounts struct {
	clock   int64          // service due to a child of weight 1, in slot microseconds
	weight  int64          // of the children that demand something, in parts
	members []*Schedulable // all children
	busy    []*Schedulable // those that run something
}

// account is what it remembers of a child.
type account struct {
	service int64 // what it got, by weight; while it waits
	deficit int64 // what it is owed, by weight; while it does not
	weight  int64 // its part of the pool's
	busy    int   // index in the pool's busy, and one more; 0: not there
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
		if c.place != noPlace { // else it wants no more: what it is owed stands still
			c.account.service += slotTime(c.Running, by, c.account.weight)
			pool.fix(c.place)
		}
	}
	a.clock += slotTime(pool.Running, by, a.weight)
}

// parts is the precision of weights in whole numbers.
const parts = 1 << 10

// slotTime is slots for a time, by weight, in slot microseconds.
func slotTime(slots int, by time.Duration, weight int64) int64 {
	return int64(math.Round(float64(float64(slots)*float64(by.Microseconds())) * parts / float64(weight)))
}

// keep brings a pool's accounts up to date with a child.
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

// Advance lets time pass in the pools whose order counts it.
func (t *Tree) Advance(by time.Duration) {
	for _, p := range t.timed {
		for _, s := range p.kinds {
			if s != nil {
				p.pool.Order.(Timed).Advance(s, by)
			}
		}
	}
}

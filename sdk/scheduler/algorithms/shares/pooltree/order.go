package pooltree

import (
	"cmp"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

// Order is a pool's inner order: which of the waiting children is served first. An order has no
// state of its own. The package's orders keep theirs in the Schedulable of pool and child, so that
// it can be saved. Other orders depend only on a Schedulable's exported data.
type Order interface {
	// Less says whether a is served before b. In each order, pools below their guaranteed part of
	// their minimum shares come first (see Guarantee). So Less compares only two such pools, or two
	// others. It must be a strict order that changes only by Set, SetWeight and the order's own
	// methods.
	Less(a, b *Schedulable) bool
	// Enter is called before a child starts to wait in the pool's queue, and Leave after it
	// stopped.
	Enter(pool, child *Schedulable)
	Leave(pool, child *Schedulable)
	// Served is called before a child of the pool is given slots.
	Served(pool, child *Schedulable)
}

// Timed is an Order that depends on time. Advance is called for each pool of the order when time
// has passed.
type Timed interface {
	Order
	Advance(pool *Schedulable, by time.Duration)
}

// The orders that come with the package.
var (
	Fair      Order = fair{}
	FIFO      Order = fifo{}
	DiscoFair Order = discoFair{}
	Deficit   Order = deficit{}
)

// Orders are the orders by name. Register adds one.
var Orders = settings.NewChoices("allocations.order", map[string]Order{
	"fair": Fair, "fifo": FIFO, "disco-fair": DiscoFair, "deficit": Deficit,
})

// forgetful is an order without state.
type forgetful struct{}

func (forgetful) Enter(_, _ *Schedulable)  {}
func (forgetful) Leave(_, _ *Schedulable)  {}
func (forgetful) Served(_, _ *Schedulable) {}

// fair is the order of the design document, section 4.4: distance below the
// minimum share, then running slots by weight.
type fair struct{ forgetful }

func (fair) Less(a, b *Schedulable) bool {
	switch {
	case a.needy != b.needy:
		return a.needy
	case a.ratio != b.ratio:
		return a.ratio < b.ratio
	}
	return elder(a, b) < 0
}

// fifo orders by priority, then by time of submission.
type fifo struct{ forgetful }

func (fifo) Less(a, b *Schedulable) bool {
	if a.Priority != b.Priority {
		return a.Priority > b.Priority
	}
	return elder(a, b) < 0
}

// elder breaks ties: start, then id or path.
func elder(a, b *Schedulable) int {
	switch {
	case a.start != b.start:
		return cmp.Compare(a.start, b.start)
	case a.id != b.id:
		return cmp.Compare(a.id, b.id)
	case a.IsJob():
		return 0
	}
	return cmp.Compare(a.Path, b.Path)
}

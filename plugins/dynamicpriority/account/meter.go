package account

import (
	"math"
	"math/bits"
	"slices"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
)

// Account is a queue with its use. An account without a queue belongs to a user that pays nothing,
// or to a queue that was removed while its jobs run.
type Account struct {
	Name  string
	Queue *Queue // nil: there is none
	Jobs  int    // live
	// Rate is the effective rate of the last interval, which is in force over this one.
	Rate money.Amount
	Uses []Use // in order of kind

	most      int    // slots that the budget covered at the rate when the interval began
	remainder uint64 // used and not paid yet, below a micro-credit: in micro-credits ÷ length
	kept      kept   // the account as the checkpoint has it
}

// Use is an account's use of one kind of slots.
type Use struct {
	Kind  string
	Held  int // now
	Quota int // over this interval
	Last  int // slots used over the last interval, rounded

	at    int64  // up to when time and quota are counted
	time  uint64 // slot-time held in this interval, in slot-nanoseconds
	quota uint64 // quota-time of this interval, in slot-nanoseconds
}

// force is an account's rate and bound in force over an interval.
type force struct {
	rate money.Amount
	most int // slots that it covers
}

// lower returns the rate in force, limited to the queue's present bid and budget.
func (a *Account) lower() force {
	rate := min(a.Rate, a.Queue.Spending)
	if rate == 0 || a.Queue.Budget < rate {
		return force{}
	}
	return force{rate, min(a.most, int(a.Queue.Budget/rate))}
}

// Use returns the account's use of a kind.
func (a *Account) Use(kind string) Use {
	if i, found := a.find(kind); found {
		return a.Uses[i]
	}
	return Use{Kind: kind}
}

// find returns the index of a kind, or where it would be. There are few kinds, and rounds ask
// often.
func (a *Account) find(kind string) (int, bool) {
	for i := range a.Uses {
		if a.Uses[i].Kind >= kind {
			return i, a.Uses[i].Kind == kind
		}
	}
	return len(a.Uses), false
}

// Held returns how many slots of a kind the account holds now.
func (a *Account) Held(kind string) int {
	if i, found := a.find(kind); found {
		return a.Uses[i].Held
	}
	return 0
}

// Quota returns how many slots of a kind the account's quota has over this interval.
func (a *Account) Quota(kind string) int {
	if i, found := a.find(kind); found {
		return a.Uses[i].Quota
	}
	return 0
}

// use returns the use of a kind for changes; a new one counts from a time on.
func (a *Account) use(kind string, from int64) *Use {
	i, found := a.find(kind)
	if !found {
		a.Uses = slices.Insert(a.Uses, i, Use{Kind: kind, at: from})
	}
	return &a.Uses[i]
}

// advance accumulates slot-time and quota-time up to a time.
func (u *Use) advance(to int64) {
	if to <= u.at {
		return
	}
	span := uint64(to - u.at) //nolint:gosec // positive
	u.time = plus(u.time, times(u.Held, span))
	u.quota = plus(u.quota, times(u.Quota, span))
	u.at = to
}

// times and plus saturate at the largest number on overflow.
func times(n int, span uint64) uint64 {
	high, low := bits.Mul64(uint64(max(n, 0)), span) //nolint:gosec // not negative
	if high > 0 {
		return math.MaxUint64
	}
	return low
}

func plus(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry > 0 {
		return math.MaxUint64
	}
	return sum
}

// bill ends an interval for the account and returns its charge: rate × slot-time within its quota ÷
// length. The remainder of earlier intervals is added.
func (a *Account) bill(end int64, length uint64) money.Amount {
	var paid uint64
	for i := range a.Uses {
		u := &a.Uses[i]
		u.advance(end)
		paid = plus(paid, min(u.time, u.quota))
		u.Last = int(plus(u.time, length/2) / length) //nolint:gosec // as many as slots
		u.time, u.quota = 0, 0
	}
	high, low := bits.Mul64(uint64(a.Rate), paid) //nolint:gosec // a rate is not negative
	low, carry := bits.Add64(low, a.remainder, 0)
	if high += carry; high >= length {
		a.remainder = 0
		return money.Max
	}
	charge, remainder := bits.Div64(high, low, length)
	a.remainder = remainder
	return money.Amount(min(charge, uint64(money.Max))) //nolint:gosec // no more than Max
}

// rescale keeps the remainder when the length of intervals changes.
func (a *Account) rescale(from, to uint64) {
	high, low := bits.Mul64(a.remainder, to)
	a.remainder, _ = bits.Div64(high, low, from) // it was less than the length
}

package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
)

// Books are a log's record of charges.
type Books struct {
	Managers int           // starts of the manager
	Lives    int           // of the policy
	Charged  int           // charged intervals of a queue
	Exact    int           // those that were compared with their exact amount
	LostMax  time.Duration // the longest time that a policy process left uncharged at its end
	Wrong    []string      // violations

	length  int64
	entries map[uint64]account.Entry
	charged map[interval]uint64       // numbers of the charges
	bids    map[string][]money.Amount // all bids of a queue so far
}

// interval is an interval of a queue, by its end.
type interval struct {
	queue string
	end   int64
}

func newBooks(length time.Duration) *Books {
	return &Books{length: int64(length), entries: map[uint64]account.Entry{}, charged: map[interval]uint64{}, bids: map[string][]money.Amount{}}
}

func (b *Books) wrong(format string, args ...any) {
	b.Wrong = append(b.Wrong, fmt.Sprintf(format, args...))
}

// enter records a posted entry, and reports whether it is new.
func (b *Books) enter(e account.Entry) bool {
	if was, ok := b.entries[e.Number]; ok {
		if was != e {
			b.wrong("entry %d is posted as %+v, and was %+v", e.Number, e, was)
		}
		return false
	}
	b.entries[e.Number] = e
	switch e.Kind {
	case account.Charge:
		i := interval{e.Queue, e.Interval}
		if was := b.charged[i]; was != 0 {
			b.wrong("queue %s is charged twice for the interval to %s, by entries %d and %d", e.Queue, time.Unix(0, e.Interval).UTC(), was, e.Number)
		}
		b.charged[i] = e.Number
		b.Charged++
	case account.SetSpending:
		b.bid(e.Queue, e.Amount)
	case account.AddBudget, account.AddQueue, account.RemoveQueue:
	}
	return true
}

func (b *Books) bid(queue string, rate money.Amount) {
	if rate > 0 && !slices.Contains(b.bids[queue], rate) {
		b.bids[queue] = append(b.bids[queue], rate)
	}
}

// highest is the highest bid of a queue.
func (b *Books) highest(queue string) (most money.Amount) {
	for _, rate := range b.bids[queue] {
		most = max(most, rate)
	}
	return most
}

// Sum is the amount of all entries of a kind, of one queue or, for "", of all.
func (b *Books) Sum(kind account.Kind, queue string) (sum money.Amount) {
	for _, e := range b.entries {
		if e.Kind == kind && (queue == "" || e.Queue == queue) {
			sum += e.Amount
		}
	}
	return sum
}

// Last is the number of the last posted entry.
func (b *Books) Last() (last uint64) {
	for n := range b.entries {
		last = max(last, n)
	}
	return last
}

// Holds returns where a store differs from its deposits, by others and by requests, less the
// charges, up to its last applied entry; "" when it does not. Queues are neither added nor removed
// meanwhile.
func (b *Books) Holds(put map[string]money.Amount, has *account.State) string {
	var wrong []string
	want := maps.Clone(put)
	for n := uint64(1); n <= has.Applied; n++ {
		switch e := b.entries[n]; e.Kind {
		case account.Charge:
			want[e.Queue] -= e.Amount
		case account.AddBudget:
			want[e.Queue] += e.Amount
		case account.SetSpending, account.AddQueue, account.RemoveQueue:
		default:
			wrong = append(wrong, fmt.Sprintf("entry %d is applied, and the log does not have it", n))
		}
	}
	for _, q := range has.Queues() {
		if q.Budget != want[q.Name] {
			wrong = append(wrong, fmt.Sprintf("queue %s has %s, and what was put into it less what was charged is %s", q.Name, q.Budget, want[q.Name]))
		}
	}
	return strings.Join(wrong, "\n")
}

// String are the figures.
func (b *Books) String() string {
	return fmt.Sprintf("%d lives of the manager, %d of the policy, %d intervals charged, %d of them to the last micro-credit, %s in all; at most %v used and not charged at an end",
		b.Managers, b.Lives, b.Charged, b.Exact, b.Sum(account.Charge, ""), b.LostMax)
}

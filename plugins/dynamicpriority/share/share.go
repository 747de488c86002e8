// Package share divides the slots of a kind among queues in proportion to the rates that they pay.
//
//	share.Divide(100, payers) // quotas of 33 and 67 for rates of 1 and 2
//
// All arithmetic is in integers: equal payers in equal order get equal quotas on every machine.
package share

import (
	"cmp"
	"math/bits"
	"slices"
)

// Payer is a queue that pays.
type Payer struct {
	Rate  uint64 // for a slot and an interval; a payer of rate 0 gets no slots
	Most  int    // slots that it can pay for
	Quota int    // result of Divide
}

// turn is a payer in its place among all.
type turn struct {
	*Payer
	place int
	part  uint64 // of a slot, that rounding down took, over the sum of rates
}

// Divide divides the slots among the payers by largest remainder. Each gets its share, rounded
// down. Those that lost most by rounding get one slot more, the earlier of equals first. No payer
// gets more than it can pay for; the rest goes to the others in the same way. So quotas add up to
// the slots, or to all slots that can be paid for.
//
// Slots must not be negative, and the rates must add up to less than 2^64.
func Divide(slots int, payers []Payer) {
	open := make([]turn, 0, len(payers))
	var sum uint64
	for i := range payers {
		p := &payers[i]
		p.Quota = 0
		if p.Rate > 0 && p.Most > 0 {
			open = append(open, turn{Payer: p, place: i})
			sum += p.Rate
		}
	}
	if open, slots, sum = bound(slots, open, sum); len(open) > 0 {
		byRemainder(slots, open, sum)
	}
}

// bound serves the payers whose share exceeds what they can pay for: they get just that. Payers are
// in order of affordable slots for their rate, lowest first. If one's share is affordable, so are
// all later shares, as shares only grow with each payer served. It returns what is left to divide.
func bound(slots int, open []turn, sum uint64) ([]turn, int, uint64) {
	over := func(t turn) bool { return compare(slots, t.Rate, t.Most, sum) > 0 }
	if !slices.ContainsFunc(open, over) {
		return open, slots, sum
	}
	slices.SortStableFunc(open, func(a, b turn) int { return compare(a.Most, b.Rate, b.Most, a.Rate) })
	n := 0
	for ; n < len(open) && over(open[n]); n++ {
		open[n].Quota = open[n].Most
		slots -= open[n].Most
		sum -= open[n].Rate
	}
	return open[n:], slots, sum
}

// compare compares a·b with c·d. a and c must not be negative.
func compare(a int, b uint64, c int, d uint64) int {
	high, low := bits.Mul64(uint64(a), b)
	otherHigh, otherLow := bits.Mul64(uint64(c), d)
	return cmp.Or(cmp.Compare(high, otherHigh), cmp.Compare(low, otherLow))
}

// byRemainder divides among payers that can all pay for their shares, rounded up.
func byRemainder(slots int, open []turn, sum uint64) {
	left := slots
	for i := range open {
		high, low := bits.Mul64(uint64(slots), open[i].Rate)
		whole, part := bits.Div64(high, low, sum)
		open[i].Quota, open[i].part = int(whole), part //nolint:gosec // no more than the slots
		left -= open[i].Quota
	}
	for _, t := range first(open, left) {
		t.Quota++
	}
}

func (t turn) before(other turn) bool {
	return t.part > other.part || t.part == other.part && t.place < other.place
}

// first returns the first n payers, in any order. It reorders all, by quickselect, only as far as
// necessary.
func first(all []turn, n int) []turn {
	for low, high := 0, len(all); n > low && n < high; {
		pivot := all[low+(high-low)/2]
		i, j := low, high-1
		for i <= j {
			for all[i].before(pivot) {
				i++
			}
			for pivot.before(all[j]) {
				j--
			}
			if i <= j {
				all[i], all[j] = all[j], all[i]
				i++
				j--
			}
		}
		switch { // up to j they are before the pivot or it, from i on behind it or it
		case n <= j:
			high = j + 1
		case n >= i:
			low = i
		default:
			return all[:n]
		}
	}
	return all[:n]
}

package share_test

import (
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/share"
)

func TestDivide(t *testing.T) {
	const all = 1 << 30
	for _, test := range []struct {
		name   string
		slots  int
		payers []share.Payer
		want   []int
	}{
		{"a third", 100, []share.Payer{{Rate: 1, Most: all}, {Rate: 2, Most: all}}, []int{33, 67}},
		{"an odd slot goes to the first of equals", 5, []share.Payer{{Rate: 1, Most: all}, {Rate: 1, Most: all}}, []int{3, 2}},
		{"nobody pays", 5, []share.Payer{{Rate: 0, Most: all}}, []int{0}},
		{"nobody at all", 5, nil, nil},
		{"no slots", 0, []share.Payer{{Rate: 1, Most: all}}, []int{0}},
		{"what one cannot pay for is the others'", 10, []share.Payer{{Rate: 5, Most: 2}, {Rate: 1, Most: all}, {Rate: 1, Most: all}}, []int{2, 4, 4}},
		{"nobody can pay for all of it", 10, []share.Payer{{Rate: 5, Most: 2}, {Rate: 1, Most: 3}}, []int{2, 3}},
		{"the first of equals is that of all, also where others are bound", 6, []share.Payer{{Rate: 8, Most: 1}, {Rate: 1, Most: 100}, {Rate: 1, Most: 50}}, []int{1, 3, 2}},
		{"one bound makes another bound", 10, []share.Payer{{Rate: 8, Most: 1}, {Rate: 1, Most: 4}, {Rate: 1, Most: all}}, []int{1, 4, 5}},
	} {
		payers := slices.Clone(test.payers)
		share.Divide(test.slots, payers)
		var got []int
		for _, p := range payers {
			got = append(got, p.Quota)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestQuotasAddUp: quotas add up to the slots, or to what can be paid for. No queue gets more than
// it can pay for. A queue not bound by that is less than a slot from its part of the rest, computed
// with rational numbers.
func TestQuotasAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(0, 1_000_000).Draw(t, "slots")
		most := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, 1<<40))
		rate := rapid.OneOf(rapid.Uint64Range(0, 5), rapid.Uint64Range(0, 1e18/100))
		payers := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) share.Payer {
			return share.Payer{Rate: rate.Draw(t, "rate"), Most: most.Draw(t, "most")}
		}), 0, 100).Draw(t, "payers")
		share.Divide(slots, payers)
		given, payable := 0, 0
		for _, p := range payers {
			given += p.Quota
			if p.Quota > p.Most || p.Rate == 0 && p.Quota > 0 || p.Quota < 0 {
				t.Fatalf("a quota of %d at rate %d, and it can pay for %d", p.Quota, p.Rate, p.Most)
			}
			if p.Rate > 0 {
				payable += p.Most
			}
		}
		if given != min(slots, payable) {
			t.Fatalf("%d slots were given of %d, of which %d can be paid for", given, slots, payable)
		}
		open, left, sum := unbound(t, slots, payers)
		for _, i := range open {
			p := payers[i]
			part := new(big.Int).Mul(left, new(big.Int).SetUint64(p.Rate))
			off := new(big.Rat).Sub(new(big.Rat).SetFrac(part, sum), new(big.Rat).SetInt64(int64(p.Quota)))
			if off.Abs(off).Cmp(big.NewRat(1, 1)) >= 0 {
				t.Fatalf("rate %d of %v: a quota of %d of %d", p.Rate, sum, p.Quota, left)
			}
		}
		if given == slots && len(open) > 0 {
			largestFirst(t, payers, open, left, sum)
		}
	})
}

// unbound lists the payers whose share is no more than they can pay for, once all others have what they can
// pay for, with the slots that are left for them and the sum of their rates. A payer may get all that it can
// pay for by rounding up: that one is not bound.
func unbound(t *rapid.T, slots int, payers []share.Payer) (open []int, left, sum *big.Int) {
	left, sum = big.NewInt(int64(slots)), new(big.Int)
	for i, p := range payers {
		if p.Rate > 0 {
			open = append(open, i)
			sum.Add(sum, new(big.Int).SetUint64(p.Rate))
		}
	}
	for n := -1; n != len(open); {
		n = len(open)
		open = slices.DeleteFunc(open, func(i int) bool {
			p := payers[i]
			rate, most := new(big.Int).SetUint64(p.Rate), big.NewInt(int64(p.Most))
			if new(big.Int).Mul(left, rate).Cmp(new(big.Int).Mul(most, sum)) <= 0 {
				return false
			}
			if p.Quota != p.Most {
				t.Fatalf("payer %d has a quota of %d, and its share is more than the %d that it can pay for", i, p.Quota, p.Most)
			}
			left.Sub(left, most)
			sum.Sub(sum, rate)
			return true
		})
	}
	return open, left, sum
}

// largestFirst: among queues that are not bound, a queue with a slot for its remainder has the
// larger remainder, or an equal one and comes first.
func largestFirst(t *rapid.T, payers []share.Payer, open []int, left, sum *big.Int) {
	var with, without *big.Int // the least remainder, and the largest
	lastWith, firstWithout := -1, len(payers)
	for _, i := range open {
		p := payers[i]
		whole, rest := new(big.Int).DivMod(new(big.Int).Mul(left, new(big.Int).SetUint64(p.Rate)), sum, new(big.Int))
		if int64(p.Quota) > whole.Int64() {
			if with == nil || rest.Cmp(with) <= 0 {
				with, lastWith = rest, i
			}
		} else if without == nil || rest.Cmp(without) > 0 {
			without, firstWithout = rest, i
		}
	}
	if with == nil || without == nil {
		return
	}
	if c := with.Cmp(without); c < 0 || c == 0 && lastWith > firstWithout {
		t.Fatalf("payer %d has a slot for a remainder of %v, and %d none for %v", lastWith, with, firstWithout, without)
	}
}

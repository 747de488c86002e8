package packing

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
)

var seeds = flag.Int("seeds", 3000, "random questions")

// TestLikeBruteForce: on small clusters each question has the answer that trying each group on
// each launcher gives, and an arrangement keeps within what launchers have.
func TestLikeBruteForce(t *testing.T) {
	var fits, hard int
	for seed := range *seeds {
		items, bins := drawn(uint64(seed)) //nolint:gosec // it is not negative
		a := Search(items, bins, 100_000)
		want := brute(items, bins, 0, 0)
		if !a.Sure || a.Fits != want {
			t.Fatalf("seed %d: %v on %v: %+v, and it fits: %t", seed, items, bins, a, want)
		}
		if again := Search(items, bins, 100_000); again.Steps != a.Steps || again.Fits != a.Fits {
			t.Fatalf("seed %d: another answer: %+v and %+v", seed, a, again)
		}
		if !a.Fits {
			continue
		}
		fits++
		s := search{items: items, bins: bins}
		if s.order(); s.greedy() == nil {
			hard++
		}
		check(t, seed, items, bins, a.On)
	}
	t.Logf("%d of %d fit, %d of these in no simple way", fits, *seeds, hard)
	if fits < *seeds/10 || fits > *seeds*9/10 || *seeds >= 3000 && hard == 0 {
		t.Errorf("%d of %d fit, %d of these in no simple way: the questions say little", fits, *seeds, hard)
	}
}

// TestTheBoundIsTold: a search that ends too early does not say that nothing fits.
func TestTheBoundIsTold(t *testing.T) {
	for seed := range 500 {
		items, bins := drawn(uint64(seed)) //nolint:gosec // it is not negative
		all := Search(items, bins, 100_000)
		for _, most := range []int{1, 5, 20} {
			if a := Search(items, bins, most); a.Sure && a.Fits != all.Fits {
				t.Fatalf("seed %d: sure after %d steps that it fits: %t", seed, most, a.Fits)
			}
		}
	}
}

func drawn(seed uint64) (items []Item, bins []Bin) {
	rng := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // seeded on purpose
	for range 1 + rng.IntN(3) {
		items = append(items, Item{Kind: rng.IntN(2), Slots: 1 + rng.IntN(3), Memory: rng.Int64N(6), Count: 1 + rng.IntN(3)})
	}
	for range 1 + rng.IntN(4) {
		bins = append(bins, Bin{Slots: []int{rng.IntN(6), rng.IntN(4)}, Memory: rng.Int64N(14)})
	}
	return items, bins
}

// brute tries each bin for each group.
func brute(items []Item, bins []Bin, item, placed int) bool {
	if item == len(items) {
		return true
	}
	x := &items[item]
	if placed == x.Count {
		return brute(items, bins, item+1, 0)
	}
	for i := range bins {
		if b := &bins[i]; b.holds(x) > 0 {
			b.takeItem(x, 1)
			ok := brute(items, bins, item, placed+1)
			b.takeItem(x, -1)
			if ok {
				return true
			}
		}
	}
	return false
}

func check(t *testing.T, seed int, items []Item, bins []Bin, on [][]int) {
	t.Helper()
	left := make([]Bin, len(bins))
	for i, b := range bins {
		left[i] = Bin{slices.Clone(b.Slots), b.Memory, b.Resources}
	}
	for i := range items {
		n := 0
		for at, taken := range on[i] {
			left[at].takeItem(&items[i], taken)
			n += taken
		}
		if n != items[i].Count {
			t.Fatalf("seed %d: %d of %d groups are placed", seed, n, items[i].Count)
		}
	}
	for _, b := range left {
		if b.Memory < 0 || slices.Min(b.Slots) < 0 {
			t.Fatalf("seed %d: too much is on a launcher: %v", seed, on)
		}
	}
}

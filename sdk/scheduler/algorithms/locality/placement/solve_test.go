package placement

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// everywhere runs a test on many drawn worlds; the seed is in the test's name.
func everywhere(t *testing.T, worlds int, test func(t *testing.T, seed uint64, rng *rand.Rand)) {
	t.Helper()
	for seed := range uint64(worlds) {
		test(t, seed, rand.New(rand.NewPCG(seed, 6))) //nolint:gosec // seeded on purpose
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestSmallIsOptimal(t *testing.T) {
	everywhere(t, 3000, func(t *testing.T, seed uint64, rng *rand.Rand) {
		w := draw(rng, shape{
			launchers: 1 + rng.IntN(4), racks: rng.IntN(3), hosts: rng.IntN(4), slots: 1 + rng.IntN(3),
			bundles: rng.IntN(6), bytes: 20, equal: seed%2 == 0, avoid: seed%3 == 0, out: seed%5 == 0,
		})
		n := w.network(t)
		got := w.judge(t, n.Solve(0))
		proven(t, n)
		if want := w.exhaustive(9, w.outGroups); got.total != want {
			t.Errorf("seed %d: total %d, the optimum is %d: %+v", seed, got.total, want, w)
		}
	})
}

func TestLargeIsOptimal(t *testing.T) {
	everywhere(t, 60, func(t *testing.T, seed uint64, rng *rand.Rand) {
		w := draw(rng, shape{
			launchers: 10 + rng.IntN(50), racks: rng.IntN(6), hosts: rng.IntN(60), slots: 1 + rng.IntN(3),
			bundles: 10 + rng.IntN(100), bytes: 1000, equal: seed%3 == 0, out: seed%5 == 0,
		})
		n := w.network(t)
		got := w.judge(t, n.Solve(0))
		proven(t, n)
		if want := w.hammr(); got.total != want {
			t.Errorf("total %d, the network's least cost is %d", got.total, want)
		}
	})
}

func TestLimitChoosesTheCheapest(t *testing.T) {
	everywhere(t, 2000, func(t *testing.T, seed uint64, rng *rand.Rand) {
		w := draw(rng, shape{
			launchers: 1 + rng.IntN(4), racks: rng.IntN(3), slots: 1 + rng.IntN(3),
			bundles: 1 + rng.IntN(5), bytes: 20, avoid: seed%3 == 0, out: seed%5 == 0,
		})
		n := w.network(t)
		limit := 1 + rng.IntN(4)
		r := n.Solve(limit)
		if r.Groups > limit {
			t.Errorf("%d groups, the limit is %d", r.Groups, limit)
		}
		if got, want := w.judge(t, r).total, w.exhaustive(limit, w.outGroups); got != want {
			t.Errorf("total %d with limit %d, the optimum is %d", got, limit, want)
		}
	})
}

// TestChangesKeepTheOptimum edits a network step by step: each answer is as good
// as that of a network that never knew another state, and proven by its prices.
func TestChangesKeepTheOptimum(t *testing.T) {
	everywhere(t, 40, func(t *testing.T, seed uint64, rng *rand.Rand) {
		s := shape{launchers: 12, racks: rng.IntN(4), slots: 1 + rng.IntN(3), bundles: 10 + rng.IntN(30), bytes: 50, equal: seed%2 == 0, avoid: seed%3 == 0, out: seed%5 == 0}
		w := draw(rng, s)
		n := w.network(t)
		next := scheduler.BundleID(1000)
		for range 40 {
			edit(t, rng, w, n, s, &next)
			got := w.judge(t, n.Solve(0))
			proven(t, n)
			if want := w.judge(t, w.network(t).Solve(0)); got.total != want.total || got.groups < want.groups && seed%5 != 0 {
				t.Fatalf("after changes %+v, from nothing %+v", got, want)
			}
		}
	})
}

// edit changes world and network alike.
func edit(t *testing.T, rng *rand.Rand, w *world, n *Network, s shape, next *scheduler.BundleID) {
	t.Helper()
	for range 1 + rng.IntN(5) {
		switch k := rng.IntN(len(w.launchers)); rng.IntN(5) {
		case 0:
			w.launchers[k].Free = kind(rng.IntN(4))
			check(t, n.SetLauncher(w.launchers[k]))
		case 1:
			fresh := draw(rng, s).bundles
			for _, b := range fresh[:min(len(fresh), 1+rng.IntN(6))] {
				*next++
				b.ID = *next
				w.bundles = append(w.bundles, b)
				check(t, n.SetBundle(b))
			}
		case 2:
			for range min(3, len(w.bundles)) {
				i := rng.IntN(len(w.bundles))
				n.RemoveBundle(w.bundles[i].ID)
				w.bundles = append(w.bundles[:i:i], w.bundles[i+1:]...)
			}
		case 3:
			for _, p := range n.Solve(0).Placed {
				if rng.IntN(2) == 0 {
					w.launched(p)
					check(t, n.Launched(p))
				}
			}
		case 4:
			if rng.IntN(4) == 0 {
				n.Forget()
			}
		}
	}
}

func (w *world) launched(p Placement) {
	for i, b := range w.bundles {
		if b.ID != p.Bundle {
			continue
		}
		for k, id := range p.Launchers {
			for j := range w.launchers {
				if w.launchers[j].ID == id {
					w.launchers[j].Free = kind(w.launchers[j].Free[0].Count - b.Groups[k].Slots)
				}
			}
		}
		w.bundles = append(w.bundles[:i:i], w.bundles[i+1:]...)
		return
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAfterForgetOnlyTheContentCounts(t *testing.T) {
	everywhere(t, 100, func(t *testing.T, seed uint64, rng *rand.Rand) {
		s := shape{launchers: 8, racks: 2, slots: 2, bundles: 12, gang: 2, need: 2, bytes: 3, equal: true}
		w := draw(rng, s)
		n := w.network(t)
		next := scheduler.BundleID(1000)
		for range 5 {
			edit(t, rng, w, n, s, &next)
			n.Solve(rng.IntN(4))
		}
		n.Forget()
		fresh := &world{costs: w.costs}
		for _, i := range rng.Perm(len(w.launchers)) {
			fresh.launchers = append(fresh.launchers, w.launchers[i])
		}
		for _, i := range rng.Perm(len(w.bundles)) {
			fresh.bundles = append(fresh.bundles, w.bundles[i])
		}
		if got, want := n.Solve(0), fresh.network(t).Solve(0); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v\nand told in another order %+v", got, want)
		}
	})
}

// TestSearchesWithoutEnd: the count of searches goes round in a network that
// lives long.
func TestSearchesWithoutEnd(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 6)) //nolint:gosec // seeded on purpose
	s := shape{launchers: 12, racks: 3, slots: 2, bundles: 30, bytes: 50}
	w := draw(rng, s)
	n := w.network(t)
	next := scheduler.BundleID(1000)
	n.Solve(0)
	n.search.epoch = math.MaxUint32 - 100
	for range 60 {
		k := rng.IntN(len(w.launchers))
		w.launchers[k].Free = kind(rng.IntN(4))
		check(t, n.SetLauncher(w.launchers[k]))
		for _, b := range draw(rng, s).bundles[:2] {
			next++
			b.ID = next
			w.bundles = append(w.bundles, b)
			check(t, n.SetBundle(b))
		}
		w.judge(t, n.Solve(0))
		proven(t, n)
	}
	if n.search.epoch > math.MaxUint32/2 {
		t.Errorf("%d searches: it did not go round", n.search.epoch)
	}
}

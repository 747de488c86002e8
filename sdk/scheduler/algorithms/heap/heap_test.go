package heap_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/heap"
)

type item struct{ key, at int }

// TestHeap changes a heap at random, and compares what comes out with a sorted list.
func TestHeap(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		h := heap.Heap[*item]{Before: func(a, b *item) bool { return a.key < b.key }, Moved: func(x *item, to int) { x.at = to }}
		for range rng.IntN(40) {
			h.Items = append(h.Items, &item{key: rng.IntN(1000)})
		}
		h.Init()
		for range 100 {
			switch n := len(h.Items); {
			case n == 0 || rng.IntN(3) == 0:
				h.Push(&item{key: rng.IntN(1000)})
			case rng.IntN(2) == 0:
				h.Remove(rng.IntN(n))
			default:
				i := rng.IntN(n)
				h.Items[i].key = rng.IntN(1000)
				h.Fix(i)
			}
		}
		for i, x := range h.Items {
			if x.at != i {
				t.Fatalf("seed %d: got index %d for the item at %d", seed, x.at, i)
			}
		}
		want := slices.Clone(h.Items)
		slices.SortStableFunc(want, func(a, b *item) int { return a.key - b.key })
		for i := range want {
			if got := h.Pop(); got.key != want[i].key {
				t.Fatalf("seed %d: got key %d as item %d, want %d", seed, got.key, i, want[i].key)
			}
		}
	}
}

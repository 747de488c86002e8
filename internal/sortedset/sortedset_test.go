package sortedset_test

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/internal/sortedset"
)

// A sorted set is a set, in order.
func TestLikeAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set []int
		obvious := map[int]bool{}
		for _, k := range rapid.SliceOf(rapid.IntRange(0, 20)).Draw(t, "keys") {
			if sortedset.Has(set, k) != obvious[k] {
				t.Fatalf("%d is in %v: %t", k, set, obvious[k])
			}
			set, obvious[k] = sortedset.Add(set, k), true
		}
		if want := slices.Sorted(maps.Keys(obvious)); !slices.Equal(set, want) {
			t.Fatalf("%v, want %v", set, want)
		}
	})
}

package idmap_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/internal/idmap"
)

// An Index walks its content in order of id, whatever is removed meanwhile; a clone does not
// change.
func TestIndexWalksInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x idmap.Index[uint64, uint64]
		for _, id := range rapid.SliceOf(rapid.Uint64Range(0, 300)).Draw(t, "ids") {
			x.Add(id, &id)
		}
		clone := x.Clone(func(v *uint64) *uint64 { return v })
		before := slices.Clone(x.IDs())
		gone := rapid.SliceOf(rapid.Uint64Range(0, 300)).Draw(t, "gone")
		var walked, want []uint64
		for i, id := range before {
			if i == 0 || !slices.Contains(gone, id) {
				want = append(want, id)
			}
		}
		for v := range x.All() {
			walked = append(walked, *v)
			for _, id := range gone {
				x.Remove(id)
			}
		}
		if !slices.Equal(walked, want) {
			t.Fatalf("walked %v, want %v", walked, want)
		}
		if !slices.Equal(clone.IDs(), before) || clone.Len() != len(before) {
			t.Fatalf("the clone has %v, want %v", clone.IDs(), before)
		}
	})
}

package prefetch_test

import (
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/internal/prefetch"
)

// All reads within the value only, whatever its size and place, and nothing of nil.
func TestAllStaysWithin(t *testing.T) {
	type small struct{ a byte }
	type odd struct{ a [129]byte }
	if got := prefetch.All(&small{7}); got == 0 {
		t.Error("a value of one byte was not read")
	}
	all := make([]odd, 3)
	for i := range all[1].a {
		all[1].a[i] = 1
	}
	for i := range all[0].a {
		all[0].a[i], all[2].a[i] = 100, 100
	}
	if got := prefetch.All(&all[1]); got != 4 { // at 0, 64, 128, and the last
		t.Errorf("the bytes read sum to %d: not 4, one of each line and the last", got)
	}
	for end, want := range map[uintptr]byte{0: 0, 1: 1, 64: 1, 65: 2, 1000: 3} {
		if got := prefetch.First(&all[1], end); got != want {
			t.Errorf("the bytes read up to %d sum to %d, want %d", end, got, want)
		}
	}
	if got := prefetch.First[odd](nil, 64); got != 0 {
		t.Errorf("nil gave %d", got)
	}
	if got := prefetch.All[odd](nil); got != 0 {
		t.Errorf("nil gave %d", got)
	}
}

// Next gives each element of a long list once, and leaves a short rest out.
func TestNextGivesBatches(t *testing.T) {
	for length, want := range map[int][]int{
		0: nil, 7: nil, 8: {8}, prefetch.Batch: {prefetch.Batch}, 2*prefetch.Batch + 7: {prefetch.Batch, prefetch.Batch},
		prefetch.Batch + 8: {prefetch.Batch, 8},
	} {
		list := make([]int, length)
		var got []int
		for i := range list {
			if next := prefetch.Next(list, i); next != nil {
				got = append(got, len(next))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d elements come as %v, want %v", length, got, want)
		}
	}
}

// At takes any index.
func TestAtTakesAnyIndex(t *testing.T) {
	s := []uint64{1, 2}
	for i, want := range map[int]byte{-1: 0, 0: 1, 1: 2, 2: 0} {
		if got := prefetch.At(s, i); got != want {
			t.Errorf("element %d gave %d, want %d", i, got, want)
		}
	}
}

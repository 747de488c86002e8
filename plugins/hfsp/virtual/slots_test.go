package virtual

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// oneByOne gives each slot to the sharer that comes first.
func oneByOne(total int, sharers []Sharer) []int {
	given := make([]int, len(sharers))
	for range total {
		best := -1
		for i, s := range sharers {
			if given[i] >= s.Cap {
				continue
			}
			if best < 0 || cmp.Or(
				cmp.Compare((float64(given[i])+0.5)/s.Weight, (float64(given[best])+0.5)/sharers[best].Weight),
				cmp.Compare(s.Cap, sharers[best].Cap),
			) < 0 {
				best = i
			}
		}
		if best < 0 {
			break
		}
		given[best]++
	}
	return given
}

// TestSlotsOfManyAreGivenOneByOne has so many sharers that turns are selected and not sorted, with weights as sites have
// them and others.
func TestSlotsOfManyAreGivenOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SampledFrom([][]float64{{1}, {1, 2}, {1, 2, 4, 0.5}, {1, 3, 0.75}, {1, 1000}}).Draw(t, "weights")
		most := rapid.SampledFrom([]int{1, 3, 30, 1000}).Draw(t, "caps")
		sharers := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Sharer {
			return Sharer{rapid.IntRange(0, most).Draw(t, "cap"), rapid.SampledFrom(weights).Draw(t, "weight")}
		}), 1, 80).Draw(t, "sharers")
		total := rapid.IntRange(0, rapid.SampledFrom([]int{10, 100, 3000}).Draw(t, "scale")).Draw(t, "slots")
		if got, want := Slots(total, sharers), oneByOne(total, sharers); !slices.Equal(got, want) {
			t.Fatalf("%v of %d, want %v", got, total, want)
		}
	})
}

// BenchmarkSlots has sharers of one weight, as most sites have, and of four.
func BenchmarkSlots(b *testing.B) {
	for _, weights := range [][]float64{{1}, {1, 2, 4, 0.5}} {
		b.Run(fmt.Sprint(len(weights), "-weights"), func(b *testing.B) {
			var sharers []Sharer
			for i := range 500 {
				sharers = append(sharers, Sharer{20 + i*7%60, weights[i%len(weights)]})
			}
			for b.Loop() {
				Slots(15_000, sharers)
			}
		})
	}
}

func TestSlotsAreGivenOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sharers := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Sharer {
			return Sharer{
				rapid.SampledFrom([]int{0, 1, 2, 3, 10, 50, 1000}).Draw(t, "cap"),
				rapid.SampledFrom([]float64{1, 1, 1, 2, 0.5, 0.25, 1000}).Draw(t, "weight"),
			}
		}), 0, 12).Draw(t, "sharers")
		total := rapid.SampledFrom([]int{0, 1, 2, 7, 60, 500, 5000}).Draw(t, "scale") * rapid.IntRange(1, 3).Draw(t, "slots")
		if got, want := Slots(total, sharers), oneByOne(total, sharers); !slices.Equal(got, want) {
			t.Fatalf("%v of %d, want %v", got, total, want)
		}
	})
}

func TestSlots(t *testing.T) {
	for _, test := range []struct {
		name    string
		total   int
		sharers []Sharer
		want    []int
	}{
		{"nobody", 5, nil, []int{}},
		{"no slots", 0, []Sharer{{3, 1}}, []int{0}},
		{"fewer than none", -3, []Sharer{{3, 1}}, []int{0}},
		{"more than can be used", 50, []Sharer{{3, 1}, {4, 1}}, []int{3, 4}},
		{"the smallest first", 4, []Sharer{{9, 1}, {7, 1}, {8, 1}}, []int{1, 2, 1}},
		{"by weight", 10, []Sharer{{10, 1}, {10, 4}}, []int{2, 8}},
		{"weights that are none", 4, []Sharer{{10, 0}, {10, math.NaN()}, {10, -1}}, []int{2, 1, 1}},
		{"caps that are none", 4, []Sharer{{-1, 1}, {0, 1}, {2, 1}}, []int{0, 0, 2}},
		{"very many", math.MaxInt, []Sharer{{math.MaxInt, 1}}, []int{CapMax}},
	} {
		if got := Slots(test.total, test.sharers); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

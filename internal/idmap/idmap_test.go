package idmap_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/internal/idmap"
)

// A Map behaves like a built-in map, in order of id, whatever the ids are.
func TestLikeMap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	ids := map[string]func(step int) uint64{
		"ascending": func(step int) uint64 { return uint64(step) },
		"few":       func(int) uint64 { return random.Uint64N(100) },
		"scattered": func(int) uint64 { return random.Uint64N(100) << random.UintN(60) },
	}
	for name, id := range ids {
		t.Run(name, func(t *testing.T) {
			var m idmap.Map[uint64, int]
			want := map[uint64]*int{}
			var known []uint64
			for step := range 5000 {
				if x := id(step); random.IntN(3) > 0 || len(known) == 0 {
					value := new(int)
					m.Set(x, value)
					want[x] = value
					known = append(known, x)
				} else {
					x = known[random.IntN(len(known))]
					m.Delete(x)
					delete(want, x)
				}
				x := id(step)
				if m.Get(x) != want[x] || m.Len() != len(want) {
					t.Fatalf("step %d: id %d has %v of %d, want %v of %d", step, x, m.Get(x), m.Len(), want[x], len(want))
				}
			}
			var got []uint64
			for x, value := range m.All() {
				if value != want[x] {
					t.Fatalf("id %d has another value in the walk", x)
				}
				got = append(got, x)
			}
			if all := slices.Sorted(maps.Keys(want)); !slices.Equal(got, all) {
				t.Fatalf("walked %d ids, want %d in order", len(got), len(all))
			}
		})
	}
}

// What is taken away during a walk is not walked.
func TestDeleteInWalk(t *testing.T) {
	var m idmap.Map[uint64, string]
	one := "one"
	for x := range uint64(1000) {
		m.Set(x, &one)
	}
	var walked []uint64
	for x := range m.All() {
		walked = append(walked, x)
		for y := range uint64(1000) {
			if y != x && y < 999 {
				m.Delete(y)
			}
		}
		m.Delete(x)
	}
	if !slices.Equal(walked, []uint64{0, 999}) || m.Len() != 0 {
		t.Fatalf("walked %v and %d are left, want 0 and 999, and none", walked, m.Len())
	}
}

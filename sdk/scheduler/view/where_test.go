package view

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// The sets equal a walk over all launchers, whatever joined, left or changed.
func TestWhereIsAWalkOverAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var x where
	x.addKind()
	all := func(*Launcher) bool { return true }
	var list []*Launcher
	for step := range 3000 {
		switch {
		case len(list) == 0 || len(list) < 150 && rng.IntN(20) == 0:
			l := &Launcher{Rack: []string{"", "r1", "r2"}[rng.IntN(3)], Host: fmt.Sprint("h", rng.IntN(40)), seat: seat{free: []int{rng.IntN(5)}}}
			list = slices.Insert(slices.Clone(list), rng.IntN(len(list)+1), l)
			x.arrange(list)
		case rng.IntN(60) == 0:
			i := rng.IntN(len(list))
			list = slices.Delete(slices.Clone(list), i, i+1)
			x.arrange(list)
		default:
			l, n := list[rng.IntN(len(list))], rng.IntN(5)
			x.changed(l.seat.place, 0, l.seat.free[0], n)
			l.seat.free[0] = n
		}
		if step%3 != 0 {
			continue // several are added and removed before the next query
		}
		for slots := range 6 {
			for _, rack := range []string{"", "r1", "r2", "r3"} {
				var want *Launcher
				count := 0
				for _, l := range list {
					if l.seat.free[0] > 0 {
						count++
					}
					if l.seat.free[0] >= max(slots, 1) && (rack == "" || l.Rack == rack) && (want == nil || l.seat.free[0] > want.seat.free[0]) {
						want = l
					}
				}
				got := x.anywhere(0, slots, all)
				if rack != "" {
					got = x.inRack(rack, 0, slots, all)
				}
				if got != want || x.count(0) != count {
					t.Fatalf("step %d: %d slots in %q: %v with room on %d, want %v and %d", step, slots, rack, got, x.count(0), want, count)
				}
			}
		}
		got := slices.Collect(x.with(0))
		if want := slices.DeleteFunc(slices.Clone(list), func(l *Launcher) bool { return l.seat.free[0] == 0 }); !slices.Equal(got, want) {
			t.Fatalf("step %d: with room are %d launchers, want %d", step, len(got), len(want))
		}
		for _, l := range list {
			if !slices.Contains(x.on(l.Host), l) {
				t.Fatalf("step %d: %v is not on its host", step, l)
			}
		}
	}
}

package placement

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestUnequalStaysNearTheOptimum compares the placement of groups of one to three slots with every
// possible one. The figures are those of doc.go.
func TestUnequalStaysNearTheOptimum(t *testing.T) {
	const worlds = 2000
	var d distance
	everywhere(t, worlds, func(t *testing.T, seed uint64, rng *rand.Rand) {
		w := draw(rng, shape{
			launchers: 1 + rng.IntN(3), racks: rng.IntN(3), slots: 1 + rng.IntN(5),
			bundles: 1 + rng.IntN(6), need: 3, bytes: 20, avoid: seed%7 == 0,
		})
		n := w.network(t)
		r := n.Solve(0)
		d.add(t, w, w.judge(t, r), r.Cost)
		proven(t, n)
		if seed%7 != 0 {
			halfFull(t, w, r)
		}
	})
	d.within(t, worlds, 0.99, 0.7, 1.1)
}

// TestBundlesOfSeveralStayNearTheOptimum is the same for bundles of up to three
// groups of one slot, each placed whole or not at all.
func TestBundlesOfSeveralStayNearTheOptimum(t *testing.T) {
	const worlds = 1000
	var d distance
	everywhere(t, worlds, func(t *testing.T, _ uint64, rng *rand.Rand) {
		w := draw(rng, shape{
			launchers: 1 + rng.IntN(3), racks: rng.IntN(3), slots: 1 + rng.IntN(3),
			bundles: 1 + rng.IntN(4), gang: 3, bytes: 20,
		})
		n := w.network(t)
		r := n.Solve(0)
		d.add(t, w, w.judge(t, r), r.Cost)
	})
	d.within(t, worlds, 0.99, 0.6, 1.1)
}

// distance gathers how far answers are from the optimum: first the most slots that
// can be put to use, then the least cost of doing so.
type distance struct {
	slots, worst float64 // share of the optimum's slots: sum, and least
	cost, best   int64   // of answers with as many slots as the optimum, and the optimum's
	as, worlds   int
}

func (d *distance) add(t *testing.T, w *world, got score, cost int64) {
	t.Helper()
	const heavy = 1 << 30
	all := 0
	slotsOf := func(b *Bundle) int64 {
		var k int64
		for _, g := range b.Groups {
			k += int64(g.Slots)
		}
		return k
	}
	for i := range w.bundles {
		all += int(slotsOf(&w.bundles[i]))
	}
	least := w.exhaustive(99, func(b *Bundle) int64 { return heavy * slotsOf(b) })
	most := all - int(least/heavy)
	d.worlds++
	if d.worst == 0 {
		d.worst = 1
	}
	if most == 0 {
		d.slots++
		return
	}
	share := float64(got.slots) / float64(most)
	d.slots += share
	d.worst = min(d.worst, share)
	if got.slots == most {
		d.as++
		d.cost += cost
		d.best += least % heavy
	}
}

func (d *distance) within(t *testing.T, worlds int, mean, worst, cost float64) {
	t.Helper()
	m, c := d.slots/float64(worlds), float64(d.cost)/float64(d.best)
	t.Logf("slots used: mean %.4f, worst %.2f of the optimum; where all are used (%d of %d) the cost is %.4f of the least", m, d.worst, d.as, d.worlds, c)
	if d.worlds != worlds || m < mean || d.worst < worst || c > cost {
		t.Errorf("want at least %.2f and %.2f, and at most %.2f", mean, worst, cost)
	}
}

// halfFull: a group is left out only if every launcher that could hold it is more
// than half full.
func halfFull(t *testing.T, w *world, r Result) {
	t.Helper()
	used := map[scheduler.LauncherID]int{}
	in := map[scheduler.BundleID]bool{}
	for _, p := range r.Placed {
		in[p.Bundle] = true
		used[p.Launchers[0]] += w.bundles[p.Bundle-1].Groups[0].Slots
	}
	for _, b := range w.bundles {
		for _, l := range w.launchers {
			if size := l.Free[0].Count; !in[b.ID] && size >= b.Groups[0].Slots && 2*used[l.ID] <= size {
				t.Errorf("%v of %d slots is left out, launcher %d has %d of %d in use", b.ID, b.Groups[0].Slots, l.ID, used[l.ID], size)
			}
		}
	}
}

func TestNeverOverSlotsOrMemory(t *testing.T) {
	everywhere(t, 60, func(t *testing.T, _ uint64, rng *rand.Rand) {
		s := shape{launchers: 10, racks: 3, slots: 6, bundles: 30, gang: 3, need: 3, bytes: 20, avoid: true, out: true}
		w := draw(rng, s)
		for i := range w.launchers {
			w.launchers[i].Memory = rng.Int64N(20)
		}
		for _, b := range w.bundles {
			for k := range b.Groups {
				b.Groups[k].Memory = rng.Int64N(8)
			}
		}
		n := w.network(t)
		next := scheduler.BundleID(1000)
		for range 5 {
			w.judge(t, n.Solve(rng.IntN(2)*5))
			edit(t, rng, w, n, s, &next)
		}
	})
}

func TestBundleOfTwoKinds(t *testing.T) {
	n := empty(t, Options{})
	both := []scheduler.SlotCount{{Kind: "gpu", Count: 1}, {Kind: "default", Count: 1}}
	check(t, n.SetLauncher(Launcher{ID: 1, Host: "a", Free: both[1:]}))
	check(t, n.SetLauncher(Launcher{ID: 2, Host: "b", Free: both}))
	pair := []scheduler.Group{{Kind: "default", Slots: 1}, {Kind: "gpu", Slots: 1}}
	check(t, n.SetBundle(Bundle{ID: 1, Groups: pair}))
	check(t, n.SetBundle(Bundle{ID: 2, Groups: pair}))
	r := n.Solve(0)
	if len(r.Placed) != 1 || r.Placed[0].Launchers[1] != 2 || r.Groups != 2 {
		t.Errorf("placed %+v, want one of the two bundles, its second group on 2", r.Placed)
	}
	// The slot that the other bundle could not use goes to work that can.
	check(t, n.SetBundle(Bundle{ID: 3, Groups: pair[:1]}))
	if r := n.Solve(0); len(r.Placed) != 2 || r.Groups != 3 {
		t.Errorf("placed %+v", r.Placed)
	}
	// Not more than the limit, and not half a bundle for it.
	for limit, want := range map[int]int{1: 1, 2: 2, 3: 3} {
		if r := n.Solve(limit); r.Groups > want {
			t.Errorf("limit %d: placed %+v", limit, r.Placed)
		}
	}
}

func TestNeighboursAreDrawnTogether(t *testing.T) {
	place := func(o Options) (racks []string) {
		n := empty(t, o)
		for i := range 8 {
			check(t, n.SetLauncher(Launcher{ID: scheduler.LauncherID(i + 1), Host: string(rune('a' + i)), Rack: string(rune('A' + i%4)), Free: kind(1)}))
		}
		one := scheduler.Group{Kind: scheduler.DefaultKind, Slots: 1}
		data := one
		data.Places = []scheduler.Place{{Host: "c", Rack: "C", Bytes: 100}}
		check(t, n.SetBundle(Bundle{ID: 1, Groups: []scheduler.Group{data, one}}))
		for range 2 { // again: what was drawn once is drawn the same
			r := n.Solve(0)
			if len(r.Placed) != 1 || r.Cost != 0 {
				t.Fatalf("placed %+v, want both groups, the first at its input and no cost for neighbours", r)
			}
			racks = nil
			for _, l := range r.Placed[0].Launchers {
				racks = append(racks, n.launchers[l-1].Rack)
			}
		}
		return racks
	}
	if apart := place(Options{}); !slices.Equal(apart, []string{"C", "A"}) && apart[0] == apart[1] {
		t.Errorf("without the term they are in %v", apart)
	}
	if near := place(Options{NeighbourBytes: 10}); !slices.Equal(near, []string{"C", "C"}) {
		t.Errorf("with the term they are in %v", near)
	}
}

package view

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A bundle is in each list that it belongs to, or in none.
func TestLaunchableIsWhatWasAddedAndNotRemoved(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var r launchable
	in := map[scheduler.BundleID]*Bundle{}
	for step := range 2000 {
		id := scheduler.BundleID(1 + rng.IntN(100))
		if b := in[id]; b != nil {
			r.remove(b)
			delete(in, id)
		} else {
			b := &Bundle{ID: id}
			for range 1 + rng.IntN(5)/4 {
				g := scheduler.Group{Kind: []scheduler.SlotKind{"map", "reduce"}[rng.IntN(2)], Slots: 1 + rng.IntN(2)}
				for p := range rng.IntN(3) {
					g.Places = append(g.Places, scheduler.Place{Host: fmt.Sprint("h", p), Rack: []string{"", "r"}[p%2]})
				}
				b.Groups = append(b.Groups, g)
			}
			r.add(b)
			in[id] = b
		}
		ids := slices.Sorted(maps.Keys(in))
		which := func(what string, got *list, is func(*Bundle) bool) {
			t.Helper()
			var have, want []scheduler.BundleID
			for b := range got.all(noTurn) {
				have = append(have, b.ID)
			}
			for _, id := range ids {
				if is(in[id]) {
					want = append(want, id)
				}
			}
			if !slices.Equal(have, want) {
				t.Fatalf("step %d: %s has %v, want %v", step, what, have, want)
			}
		}
		which("the list", &r.list, func(*Bundle) bool { return true })
		which("gangs", &r.gangs, func(b *Bundle) bool { return len(b.Groups) > 1 })
		for i := range r.kinds {
			k, slots := &r.kinds[i], 0
			which(k.kind, &k.list, func(b *Bundle) bool { return b.Groups[0].Kind == k.kind })
			for _, b := range in {
				for _, g := range b.Groups {
					if g.Kind == k.kind {
						slots += g.Slots
					}
				}
			}
			if slots != k.slots {
				t.Fatalf("step %d: %s needs %d slots, want %d", step, k.kind, k.slots, slots)
			}
		}
		for host, x := range r.byHost {
			on := func(b *Bundle) bool {
				return len(b.Groups) == 1 && slices.ContainsFunc(b.Groups[0].Places, func(p scheduler.Place) bool { return p.Host == host })
			}
			which(host, x, on)
			if some := slices.ContainsFunc(slices.Collect(maps.Values(in)), on); some != r.inputOn(host) || some != slices.Contains(slices.Collect(r.hosts), host) {
				t.Fatalf("step %d: input on %s: %t, want %t", step, host, r.inputOn(host), some)
			}
		}
	}
}

// The first ready bundle is the first of a walk that offers no second attempt, also after launches of a turn.
func TestFirstReady(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	turn := uint64(1)
	j := &Job{turn: &turn}
	in := map[scheduler.BundleID]*Bundle{}
	for step := range 5000 {
		id := scheduler.BundleID(1 + rng.IntN(20))
		switch b := in[id]; {
		case rng.IntN(4) == 0:
			turn++
		case b == nil:
			in[id] = &Bundle{ID: id, Job: j, SpeculationOffered: step > 2500 && rng.IntN(3) == 0, Groups: []scheduler.Group{{Slots: 1}}}
			j.launchable.add(in[id])
		case rng.IntN(2) == 0:
			b.LeaveOut()
		default:
			j.launchable.remove(b)
			delete(in, id)
		}
		var want *Bundle
		for _, id := range slices.Sorted(maps.Keys(in)) {
			if b := in[id]; !b.LeftOut() && !b.SpeculationOffered {
				want = b
				break
			}
		}
		if got := j.FirstReady(); got != want {
			t.Fatalf("step %d: the first ready bundle is %+v, want %+v", step, got, want)
		}
	}
}

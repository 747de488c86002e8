package view

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

var gangSeeds = flag.Int("gangs", 3000, "random clusters of TestFitLikeBruteForce")

// TestFitLikeBruteForce: on small clusters a gang fits exactly where trying each group on each
// launcher says so, with what is reserved for it and for others, and with launchers that it
// avoids. What Fit takes is there, and where it does not fit nothing is taken.
func TestFitLikeBruteForce(t *testing.T) {
	var fits, hard int
	for seed := range uint64(*gangSeeds) { //nolint:gosec // it is not negative
		v, b := drawGang(t, rand.New(rand.NewPCG(seed, 1))) //nolint:gosec // seeded on purpose
		before := v.World().String()
		free := roomsOf(v, b)
		want := bruteForce(v.Launchers(), b, free, 0)
		if _, greedy := v.greedily(b); want && !greedy {
			hard++
		}
		where, ok := v.Fit(b)
		if ok != want {
			t.Fatalf("seed %d: Fit of %v says %t, want %t, on\n%s", seed, b.Groups, ok, want, before)
		}
		if !ok {
			if v.Capacity.Mark() != 0 {
				t.Fatalf("seed %d: something is taken for a gang that does not fit", seed)
			}
			continue
		}
		fits++
		for i, id := range where {
			if r := free[id]; b.avoids(v.Launcher(id)) || !r.take(&b.Groups[i]) {
				t.Fatalf("seed %d: group %d of %v on launcher %d of %v, where there is no room:\n%s", seed, i, b.Groups, id, where, before)
			}
		}
	}
	t.Logf("%d of %d gangs fit, %d of these by a search", fits, *gangSeeds, hard)
	if hard == 0 || fits == *gangSeeds {
		t.Errorf("%d of %d gangs fit, %d of these by a search: the games show nothing", fits, *gangSeeds, hard)
	}
}

// greedily is Fit without a search, and takes nothing.
func (v *View) greedily(b *Bundle) ([]scheduler.LauncherID, bool) {
	defer v.Capacity.Undo(v.Capacity.Mark())
	order := hardestFirst(b.Groups)
	if where, ok := v.Capacity.tryGang(b, order, v.Capacity.pick); ok {
		return where, true
	}
	return v.Capacity.tryGang(b, order, v.Capacity.tightest)
}

func drawGang(t *testing.T, rng *rand.Rand) (*View, *Bundle) {
	t.Helper()
	v := &View{}
	if err := v.Start(scheduler.Snapshot{}); err != nil {
		t.Fatal(err)
	}
	kinds := []scheduler.SlotKind{"default", "gpu"}
	ready := scheduler.BundleReady{Job: 1, Bundle: 7}
	for range 2 + rng.IntN(4) {
		ready.Groups = append(ready.Groups, scheduler.Group{Kind: kinds[max(rng.IntN(4)-2, 0)], Slots: 1 + rng.IntN(2), Memory: rng.Int64N(8)})
	}
	r := scheduler.Round{Number: 1}
	for id := scheduler.LauncherID(1); int(id) <= 2+rng.IntN(4); id++ {
		slots := []scheduler.SlotCount{{Kind: "default", Count: rng.IntN(5)}, {Kind: "gpu", Count: rng.IntN(3)}}
		o := scheduler.Offer{Launcher: id, Free: slots, Memory: rng.Int64N(14)}
		if rng.IntN(3) == 0 {
			o.Reserved = []scheduler.Reservation{{
				Job: scheduler.JobID(1 + rng.IntN(2)), Kind: kinds[rng.IntN(2)], Slots: rng.IntN(3), Memory: rng.Int64N(6),
			}}
			if o.Reserved[0].Job == 1 {
				o.Reserved[0].Bundle = []scheduler.BundleID{0, 7, 8}[rng.IntN(3)]
			}
		}
		r.Events = append(r.Events, scheduler.LauncherJoined{Launcher: id, Host: fmt.Sprint("h", id), Slots: slots, Memory: 20})
		r.Offers = append(r.Offers, o)
		if rng.IntN(6) == 0 {
			ready.Avoid = append(ready.Avoid, id)
		}
	}
	stages := []scheduler.Stage{{Groups: 9, Kind: "default", Slots: 1}}
	r.Events = append(r.Events, scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: stages}}, scheduler.JobSubmitted{Job: scheduler.Job{ID: 2, Stages: stages}}, ready)
	apply(t, v, r)
	return v, v.Bundle(7)
}

// space is what a launcher has for a bundle, by kind.
type space struct {
	slots  map[scheduler.SlotKind]int
	memory int64
}

func (s *space) take(g *scheduler.Group) bool {
	if s.slots[g.Kind] < g.Slots || s.memory < g.Memory {
		return false
	}
	s.slots[g.Kind] -= g.Slots
	s.memory -= g.Memory
	return true
}

// roomsOf adds up offers, without the view's own sums.
func roomsOf(v *View, b *Bundle) map[scheduler.LauncherID]*space {
	all := map[scheduler.LauncherID]*space{}
	for _, l := range v.Launchers() {
		s := &space{map[scheduler.SlotKind]int{}, l.Offer.Memory}
		for _, f := range l.Offer.Free {
			s.slots[f.Kind] += f.Count
		}
		for _, r := range l.Offer.Reserved {
			if r.Bundle == b.ID || r.Bundle == 0 && r.Job == b.Job.ID() {
				s.slots[r.Kind] += r.Slots
				s.memory += r.Memory
			}
		}
		all[l.ID] = s
	}
	return all
}

func bruteForce(launchers []*Launcher, b *Bundle, free map[scheduler.LauncherID]*space, group int) bool {
	if group == len(b.Groups) {
		return true
	}
	g := &b.Groups[group]
	for _, l := range launchers {
		s := free[l.ID]
		if b.avoids(l) || !s.take(g) {
			continue
		}
		ok := bruteForce(launchers, b, free, group+1)
		s.slots[g.Kind] += g.Slots
		s.memory += g.Memory
		if ok {
			return true
		}
	}
	return false
}

// TestSearchesOfARoundAreBounded: whatever gangs are tried, a round searches a bounded number of
// steps, and the next begins anew.
func TestSearchesOfARoundAreBounded(t *testing.T) {
	v := &View{}
	if err := v.Start(scheduler.Snapshot{}); err != nil {
		t.Fatal(err)
	}
	r := scheduler.Round{Number: 1}
	for id := scheduler.LauncherID(1); id <= 40; id++ {
		slots := []scheduler.SlotCount{{Kind: "default", Count: 3}}
		memory := int64(100 + id)
		r.Events = append(r.Events, scheduler.LauncherJoined{Launcher: id, Slots: slots, Memory: memory})
		r.Offers = append(r.Offers, scheduler.Offer{Launcher: id, Free: slots, Memory: memory})
	}
	ready := scheduler.BundleReady{Job: 1, Bundle: 7}
	for i := range 110 { // slots and memory are enough in all, but each launcher lacks some
		ready.Groups = append(ready.Groups, scheduler.Group{Kind: "default", Slots: 1, Memory: int64(35 + i%7)})
	}
	r.Events = append(r.Events, scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 110, Kind: "default", Slots: 1}}}}, ready)
	apply(t, v, r)
	for range 100 {
		if _, ok := v.Fit(v.Bundle(7)); ok {
			t.Fatal("it fits")
		}
	}
	if v.Capacity.steps < searchMax || v.Capacity.steps > roundSearchMax+2*searchMax {
		t.Errorf("100 questions took %d steps, want %d at the most", v.Capacity.steps, roundSearchMax)
	}
	apply(t, v, scheduler.Round{Number: 2})
	if v.Capacity.steps != 0 {
		t.Error("the next round does not begin anew")
	}
}

// BenchmarkFitGang is a gang that is placed at once, one that is found by a search, and one that
// does not fit.
func BenchmarkFitGang(b *testing.B) {
	for _, c := range []struct {
		name     string
		launcher int64 // memory of each
		memory   []int64
	}{
		{"fits", 10, []int64{4, 4, 3, 3}},
		{"equal", 10, []int64{4, 4, 4, 4}},
		{"not", 10, []int64{9, 9, 9, 9, 8, 8, 8, 8}},
	} {
		for _, launchers := range []int{4, 400} {
			b.Run(fmt.Sprintf("%s/launchers=%d", c.name, launchers), func(b *testing.B) {
				v := &View{}
				if err := v.Start(scheduler.Snapshot{}); err != nil {
					b.Fatal(err)
				}
				r := scheduler.Round{Number: 1}
				for id := scheduler.LauncherID(1); int(id) <= launchers; id++ {
					slots := []scheduler.SlotCount{{Kind: "default", Count: 2}}
					if c.name == "not" && id > 4 {
						slots = nil
					}
					r.Events = append(r.Events, scheduler.LauncherJoined{Launcher: id, Slots: slots, Memory: c.launcher})
					r.Offers = append(r.Offers, scheduler.Offer{Launcher: id, Free: slots, Memory: c.launcher})
				}
				ready := scheduler.BundleReady{Job: 1, Bundle: 7}
				for _, m := range c.memory {
					ready.Groups = append(ready.Groups, scheduler.Group{Kind: "default", Slots: 1, Memory: m})
				}
				r.Events = append(r.Events, scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 9, Kind: "default", Slots: 1}}}}, ready)
				if err := v.Apply(r); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					mark := v.Capacity.Mark()
					v.Fit(v.Bundle(7))
					v.Capacity.Undo(mark)
				}
			})
		}
	}
}

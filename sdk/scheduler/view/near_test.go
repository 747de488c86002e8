package view

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestNearRoom compares NearRoom with a walk over all launchers: with many launchers and little
// input, and the other way round.
func TestNearRoom(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		v := &View{}
		launchers, bundles := 1+random.IntN(20), random.IntN(20)
		r := scheduler.Round{Number: 1, Events: []scheduler.Event{
			scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 20, Kind: "default"}}}},
		}}
		host := func() int { return random.IntN(12) }
		rack := func(host int) string { return []string{"", "b", "a", "c"}[host%4] }
		for i := 1; i <= launchers; i++ {
			h, id := host(), scheduler.LauncherID(i)
			r.Events = append(r.Events, scheduler.LauncherJoined{Launcher: id, Host: fmt.Sprint(h), Rack: rack(h), Slots: []scheduler.SlotCount{{Kind: "default", Count: 2}}})
			r.Offers = append(r.Offers, scheduler.Offer{Launcher: id, Free: []scheduler.SlotCount{{Kind: "default", Count: random.IntN(3)}}})
		}
		for i := 1; i <= bundles; i++ {
			g := scheduler.Group{Kind: "default", Slots: 1}
			for range random.IntN(4) {
				h := host()
				g.Places = append(g.Places, scheduler.Place{Host: fmt.Sprint(h), Rack: rack(h), Bytes: 1})
			}
			r.Events = append(r.Events, scheduler.BundleReady{Job: 1, Bundle: scheduler.BundleID(i), Groups: []scheduler.Group{g}})
		}
		apply(t, v, r)
		for i := 1; i <= bundles; i += 2 { // leaves hosts of which nothing is launchable
			apply(t, v, scheduler.Round{Number: v.Round() + 1, Events: []scheduler.Event{scheduler.BundleWithdrawn{Job: 1, Bundle: scheduler.BundleID(i)}}})
		}
		on, racks := v.NearRoom(v.Job(1), "default")
		wantOn, wantRacks := nearRoomPlainly(v)
		if !reflect.DeepEqual(on, wantOn) || !reflect.DeepEqual(racks, wantRacks) {
			t.Fatalf("seed %d: launchers %v and racks %q, want %v and %q", seed, ids(on), racks, ids(wantOn), wantRacks)
		}
	}
	if on, racks := cluster(t).NearRoom(&Job{}, "unheard"); on != nil || racks != nil {
		t.Errorf("of a kind that nobody has: %v and %q", ids(on), racks)
	}
}

// TestHasNearRoom compares HasNearRoom, which caches, and HasNear, with NearRoom and with a walk
// over all launchers. Meanwhile launchers join, leave, fill up and drain, bundles come and go, and
// taken slots are given back.
func TestHasNearRoom(t *testing.T) {
	said := map[bool]int{}
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 2))
		v := &View{}
		apply(t, v, scheduler.Round{Number: 1, Events: []scheduler.Event{
			scheduler.JobSubmitted{Job: scheduler.Job{ID: 1, Stages: []scheduler.Stage{{Groups: 1000, Kind: "default"}}}},
		}})
		bundles := scheduler.BundleID(0)
		tell := func(e ...scheduler.Event) { apply(t, v, scheduler.Round{Number: v.Round() + 1, Events: e}) }
		for range 150 {
			id := scheduler.LauncherID(1 + random.IntN(12))
			l := v.Launcher(id)
			switch what := random.IntN(12); {
			case l == nil && what < 6:
				tell(scheduler.LauncherJoined{Launcher: id, Host: fmt.Sprint(id / 2), Slots: []scheduler.SlotCount{{Kind: "default", Count: 2}}, Memory: 1})
			case what < 1:
				bundles++
				g := scheduler.Group{Kind: []scheduler.SlotKind{"default", "other"}[random.IntN(9)/8], Slots: 1}
				for range random.IntN(3) {
					g.Places = append(g.Places, scheduler.Place{Host: fmt.Sprint(random.IntN(8)), Bytes: 1})
				}
				tell(scheduler.BundleReady{Job: 1, Bundle: bundles, Groups: []scheduler.Group{g}})
			case what < 3:
				for b := range v.Job(1).Ready() {
					tell(scheduler.BundleWithdrawn{Job: 1, Bundle: b.ID})
					break
				}
			case l == nil:
			case what < 4:
				tell(scheduler.LauncherLost{Launcher: id})
			case what < 5:
				tell(scheduler.LauncherDraining{Launcher: id, Draining: !l.Draining})
			case what < 9:
				free := []scheduler.SlotCount{{Kind: "default", Count: random.IntN(5) / 3}}
				apply(t, v, scheduler.Round{Number: v.Round() + 1, Offers: []scheduler.Offer{{Launcher: id, Free: free, Memory: 1}}})
			default:
				v.Capacity.TakeRoom(l, &scheduler.Group{Kind: "default", Slots: 1})
			}
			on, _ := v.NearRoom(v.Job(1), "default")
			got := v.HasNearRoom(v.Job(1), "default")
			if said[got]++; got != (len(on) > 0) {
				t.Fatalf("seed %d: there is room near: %t, but it is on %v", seed, got, ids(on))
			}
			for b := range v.Job(1).Ready() {
				near := slices.ContainsFunc(v.Launchers(), func(l *Launcher) bool {
					return !l.Closed() && Locality(l, &b.Groups[0]) == scheduler.NodeLocal
				})
				if got := v.HasNear(b); got != near {
					t.Fatalf("seed %d: %v has a launcher near that is open: %t, want %t", seed, b.ID, got, near)
				}
			}
		}
	}
	if said[true] < 1000 || said[false] < 1000 {
		t.Errorf("it was asked in vain or for nothing: %v", said)
	}
}

// nearRoomPlainly asks every launcher about every bundle of job 1.
func nearRoomPlainly(v *View) (on []*Launcher, racks []string) {
	for _, l := range v.Launchers() {
		level := scheduler.Remote
		for b := range v.Job(1).Ready() {
			level = min(level, Locality(l, &b.Groups[0]))
			for _, p := range b.Groups[0].Places {
				if slots, _ := v.Capacity.Room(l, 1, "default"); slots > 0 && p.Rack != "" && p.Rack == l.Rack && !slices.Contains(racks, p.Rack) {
					racks = append(racks, p.Rack)
				}
			}
		}
		if slots, _ := v.Capacity.Room(l, 1, "default"); slots > 0 && level == scheduler.NodeLocal {
			on = append(on, l)
		}
	}
	slices.Sort(racks)
	return on, racks
}

func ids(launchers []*Launcher) (list []scheduler.LauncherID) {
	for _, l := range launchers {
		list = append(list, l.ID)
	}
	return list
}

package preemptivefair

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TestAccountsOfChanges plays random games with all sorts of events, and compares the accounts that
// events update with a full recount.
func TestAccountsOfChanges(t *testing.T) {
	modes := []string{"kill", "soft", "suspend"}
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			c := cluster.New(seed)
			p := newTested()
			config := scheduler.Config{Text: fmt.Appendf(nil, "mode: %s\nhold-max: 1s\n", modes[seed%3])}
			about, err := p.Start(config, c.Snapshot(), scheduler.Environment{Seed: seed, Limits: scheduler.Limits{GraceMax: time.Minute}})
			if err != nil {
				t.Fatal(err)
			}
			c.Started(about)
			disturb(c, rng)
			for c.Step() {
				r := c.Round()
				d, err := p.AssignTasks(r)
				if err != nil {
					t.Fatal(err)
				}
				wantLikeNew(t, p)
				if t.Failed() {
					t.Fatalf("after round %d: %+v", r.Number, r.Events)
				}
				c.Apply(r.Number, d)
			}
		})
	}
}

// A launcher that drains or is excluded has nothing to share.
func TestSlotsAreThoseWhereWorkMayStart(t *testing.T) {
	p := newTested()
	slots := []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 3}}
	if _, err := p.Start(scheduler.Config{}, scheduler.Snapshot{Events: []scheduler.Event{scheduler.LauncherJoined{Launcher: 1, Slots: slots}}}, scheduler.Environment{}); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		event scheduler.Event
		want  int
	}{
		{scheduler.LauncherJoined{Launcher: 2, Slots: slots}, 6},
		{scheduler.LauncherExcluded{Launcher: 2, Excluded: true}, 3},
		{scheduler.LauncherDraining{Launcher: 1, Draining: true}, 0},
		{scheduler.LauncherExcluded{Launcher: 2}, 3},
	} {
		if _, err := p.AssignTasks(scheduler.Round{Number: uint64(i + 1), Events: []scheduler.Event{c.event}}); err != nil { //nolint:gosec // few
			t.Fatal(err)
		}
		if got := p.State().world.slots(scheduler.DefaultKind); got != c.want {
			t.Errorf("after %T: %d slots, want %d", c.event, got, c.want)
		}
	}
}

// disturb has launchers and jobs of two kinds of slot come and go.
func disturb(c *cluster.Cluster, rng *rand.Rand) {
	both := []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: 2}, {Kind: "gpu", Count: 1}}
	for id := scheduler.LauncherID(1); id <= 4; id++ {
		c.Join(id, cluster.Rack(id), 1<<34, both[:1+id%2]...)
	}
	sometime := func() time.Duration { return time.Duration(rng.IntN(60)) * time.Second }
	for range 2 + rng.IntN(6) {
		last := cluster.GroupSpec{Kind: []scheduler.SlotKind{scheduler.DefaultKind, "gpu"}[rng.IntN(2)], Slots: 1}
		spec := cluster.Spec{Name: "random", Layers: []cluster.Layer{
			{Bundles: 1 + rng.IntN(12), Groups: groupsOf(1 + rng.IntN(2)), Run: time.Duration(1+rng.IntN(20)) * time.Second},
			{Bundles: 1 + rng.IntN(3), Groups: []cluster.GroupSpec{last}, Run: time.Second, After: []int{0}, Shuffles: true},
		}}
		c.After(sometime(), func() { c.Submit(spec) })
	}
	c.After(sometime(), func() { c.Drain(1, true) })
	c.After(sometime(), func() { c.SetExcluded(3, true) })
	c.After(sometime(), func() { c.Lose(2) })
	c.After(sometime(), func() { c.Straggle(1) })
	c.After(sometime(), func() {
		if live := c.Live(); len(live) > 0 {
			c.Kill(live[rng.IntN(len(live))])
		}
	})
	c.After(70*time.Second, func() { c.Drain(1, false) })
	c.After(70*time.Second, func() { c.SetExcluded(3, false) })
	c.After(80*time.Second, func() { c.Join(9, cluster.Rack(9), 1<<34, both...) })
}

// wantLikeNew compares a policy's accounts with those of a newly started one.
func wantLikeNew(t *testing.T, p *tested) {
	t.Helper()
	fresh := newWorld(p.View())
	if !slices.Equal(p.State().world.kinds, fresh.kinds) || !reflect.DeepEqual(p.State().world.total, fresh.total) || len(p.State().world.known) != len(fresh.known) {
		t.Errorf("kinds %v, slots %v, %d jobs; want %v, %v, %d", p.State().world.kinds, p.State().world.total, len(p.State().world.known), fresh.kinds, fresh.total, len(fresh.known))
	}
	for _, kind := range fresh.kinds {
		if got, want := p.State().world.sharers(kind), fresh.sharers(kind); got != want {
			t.Errorf("%d jobs share the %s slots, want %d", got, kind, want)
		}
	}
	for id, s := range p.State().world.known {
		if want := fresh.known[id]; !slices.Equal(s.of, want.of) || s.small != want.small {
			t.Errorf("the accounts of %s are %+v, want %+v", id, s.of, want.of)
		}
	}
	wantRequestsLikeNew(t, p, fresh)
	sameJob := func(a, b *job) bool { return a.Job == b.Job }
	if !slices.EqualFunc(p.State().world.waiting, fresh.waiting, sameJob) {
		t.Errorf("%d jobs wait, want %d, or in another order", len(p.State().world.waiting), len(fresh.waiting))
	}
	if all := p.Leaving().Start(p.View()); !slices.Equal(p.Leaving(), all) {
		t.Errorf("attempts that leave are %v, want %v", p.Leaving(), all)
	}
	var between, want []scheduler.JobID
	for _, b := range p.State().memory.Between {
		between = append(between, b.Job)
	}
	for _, j := range p.View().Jobs() {
		if isBetween(j) {
			want = append(want, j.ID())
		}
	}
	if !slices.Equal(between, want) {
		t.Errorf("jobs between stages are %v, want %v", between, want)
	}
}

// wantRequestsLikeNew compares the requests that the last round left alone with those made anew.
func wantRequestsLikeNew(t *testing.T, p *tested, fresh *world) {
	t.Helper()
	fresh.part(p.Leaving())
	(&assignment{world: fresh, memory: &p.State().memory}).gather()
	for id, s := range p.State().world.known {
		for i, kind := range s.kinds {
			got, want := s.requests[i], fresh.known[id].requests[i]
			switch {
			case s.changed:
			case (got == nil) != (want == nil):
				t.Errorf("%s asks for %s slots: %t, want %t", id, kind, got != nil, want != nil)
			case got != nil && (got.held != want.held || got.more != want.more || got.left != want.left || got.done || got.at < 0):
				t.Errorf("the request of %s for %s slots is %+v, want %+v", id, kind, got, want)
			}
		}
	}
}

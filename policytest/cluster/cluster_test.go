package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// TestViewEqualsCluster decides at random, preempting and suspending too, and
// after every round holds the view against the cluster that made the round; and
// against a view that was started from a snapshot.
func TestViewEqualsCluster(t *testing.T) {
	var all cluster.Tally
	for seed := range uint64(20) {
		tally := randomGame(t, seed)
		all.Launches += tally.Launches
		all.Victims += tally.Victims
		all.Suspensions += tally.Suspensions
		all.Resumptions += tally.Resumptions
		all.Lost += tally.Lost
		all.Loads += tally.Loads
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if all.Launches == 0 || all.Victims == 0 || all.Suspensions == 0 || all.Resumptions == 0 || all.Lost == 0 || all.Loads == 0 {
		t.Errorf("the games were too tame: %+v", all)
	}
}

func randomGame(t *testing.T, seed uint64) cluster.Tally {
	t.Helper()
	c := cluster.New(seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	if seed%2 == 1 {
		c.Abilities = scheduler.AbilityResume | scheduler.AbilityProgress | scheduler.AbilityLoad
	}
	plan(c, rng)
	var v view.View
	for n := 0; c.Step() && n < 600; n++ {
		r := c.Round()
		if err := v.Apply(r); err != nil {
			t.Errorf("%v", err)
			return c.Tally
		}
		want := c.World().String()
		if got := v.Dump(); got != want {
			t.Errorf("round %d:\nview\n%scluster\n%s", r.Number, got, want)
			return c.Tally
		}
		if n%10 == 0 && !restarted(t, c, want) {
			return c.Tally
		}
		d := decide(&v, rng, seed%2 == 1)
		if rng.IntN(5) == 0 {
			c.Race()
		}
		c.Apply(r.Number, d)
		if len(c.Faults) > 0 {
			t.Errorf("%v", c.Faults)
			return c.Tally
		}
	}
	return c.Tally
}

func restarted(t *testing.T, c *cluster.Cluster, want string) bool {
	t.Helper()
	var v view.View
	err := v.Start(c.Snapshot(nil, 0))
	if err == nil {
		err = v.Apply(scheduler.Round{Number: 1, Now: c.Now(), Events: c.Loads(), Offers: c.Offers()})
	}
	if got := v.Dump(); err != nil || got != want {
		t.Errorf("from a snapshot: %v\n%scluster\n%s", err, got, want)
		return false
	}
	return true
}

func plan(c *cluster.Cluster, rng *rand.Rand) {
	const gib = 1 << 30
	slots := func(n int) scheduler.SlotCount { return scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: n} }
	for id := scheduler.LauncherID(1); id <= 4; id++ {
		c.Join(id, cluster.Rack(id), 8*gib, slots(2), scheduler.SlotCount{Kind: "special", Count: 1})
	}
	for i := range 8 {
		spec := cluster.Spec{Name: fmt.Sprint("job ", i), Priority: scheduler.Priority(rng.IntN(3))}
		for n := range 1 + rng.IntN(3) {
			l := cluster.Layer{
				Bundles: 1 + rng.IntN(4), Run: time.Duration(1+rng.IntN(5)) * time.Second, Shuffles: n > 0,
				FailOnce: rng.IntN(4) == 0, Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1, Memory: gib}},
				Hosts: []scheduler.LauncherID{scheduler.LauncherID(1 + rng.IntN(5))},
			}
			if rng.IntN(3) == 0 {
				l.Groups = append(l.Groups, cluster.GroupSpec{Kind: "special", Slots: 1, Memory: gib})
			}
			if n > 0 {
				l.After = []int{n - 1}
			}
			l.Late = rng.IntN(2) * (l.Bundles - 1)
			spec.Layers = append(spec.Layers, l)
		}
		c.After(time.Duration(rng.IntN(10))*time.Second, func() { c.Submit(spec) })
	}
	for range 6 {
		n, id := rng.IntN(5), scheduler.LauncherID(1+rng.IntN(4))
		c.After(time.Duration(rng.IntN(20))*time.Second, func() { c.Straggle(n) })
		at := time.Duration(rng.IntN(20)) * time.Second
		c.After(at, func() { c.Lose(id) })
		c.After(at+time.Second, func() { c.Join(id, cluster.Rack(id), 8*gib, slots(2), scheduler.SlotCount{Kind: "special", Count: 1}) })
		c.After(at+2*time.Second, func() { c.Drain(id, rng.IntN(2) == 0) })
		c.After(at+3*time.Second, func() { c.Load(id, rng.Float64(), scheduler.LoadUnknown) })
	}
	c.After(12*time.Second, c.Grow)
	c.After(25*time.Second, func() {
		for id := scheduler.LauncherID(1); id <= 4; id++ {
			c.Drain(id, false)
		}
	})
}

// decide launches what fits, and now and then takes a victim for what does not.
func decide(v *view.View, rng *rand.Rand, resumes bool) scheduler.Decisions {
	var d scheduler.Decisions
	var unfit *view.Bundle
	for b := range v.Ready() {
		if where, ok := v.Fit(b); ok {
			d.Launch = append(d.Launch, v.Launch(b, where))
		} else if unfit == nil && !b.SpeculationOffered {
			unfit = b
		}
	}
	for _, j := range v.Jobs() {
		for _, a := range j.Attempts() {
			l := v.Launcher(a.Launcher)
			switch {
			case a.State == view.Suspended && resumes && len(a.Bundle.Groups) == 1 && a.Leaving == 0 && !l.Draining && v.Take(l, &scheduler.Group{Kind: a.Need.Kind, Slots: a.Need.Slots}):
				d.Resume = append(d.Resume, scheduler.Resume{Attempt: a.ID})
			case a.State == view.Running && unfit != nil && unfit.Job != j && a.Leaving == 0 && rng.IntN(3) == 0 && len(d.Preempt) == 0:
				mode := scheduler.PreemptKill + scheduler.PreemptMode(rng.IntN(3))
				for _, peer := range a.Bundle.Attempts() {
					if peer.State != view.Running || len(a.Bundle.Attempts()) > 1 || a.Bundle.SpeculationOffered { // which would be launched too
						mode = 0
					}
				}
				if mode != 0 {
					d.Preempt = append(d.Preempt, scheduler.Preempt{Victims: []scheduler.AttemptID{a.ID}, Mode: mode, Grace: time.Second, For: unfit.Job.ID(), Bundle: unfit.ID})
				}
			}
		}
	}
	return d
}

// TestLostPartOfAGang: what a finished group of a gang stored is lost while another group
// runs, so that all of the gang has to run again.
func TestLostPartOfAGang(t *testing.T) {
	c := cluster.New(1)
	for id := scheduler.LauncherID(1); id <= 2; id++ {
		c.Join(id, "", 8<<30, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: 1})
	}
	one := cluster.GroupSpec{Kind: scheduler.DefaultKind, Slots: 1}
	c.Submit(cluster.Spec{Name: "gang", Layers: []cluster.Layer{
		{Bundles: 1, Run: time.Minute, Groups: []cluster.GroupSpec{one, one}},
		{Bundles: 1, Run: time.Second, Groups: []cluster.GroupSpec{one}, After: []int{0}},
	}})
	var v view.View
	round := func() (ended []scheduler.AttemptEnded) {
		r := c.Round()
		if err := v.Apply(r); err != nil {
			t.Fatal(err)
		}
		for _, e := range v.Ended() {
			ended = append(ended, e.Event)
		}
		var d scheduler.Decisions
		for b := range v.Ready() {
			if where, ok := v.Fit(b); ok {
				d.Launch = append(d.Launch, v.Launch(b, where))
			}
		}
		c.Apply(r.Number, d)
		return ended
	}
	where := map[scheduler.AttemptID]scheduler.LauncherID{}
	var first []scheduler.AttemptEnded
	for len(first) == 0 && c.Step() {
		for _, j := range v.Jobs() {
			for _, a := range j.Attempts() {
				where[a.ID] = a.Launcher
			}
		}
		first = round()
	}
	c.Lose(where[first[0].Attempt])
	second := round()
	if len(first) != 1 || first[0].Outcome != scheduler.Finished || len(second) != 1 || second[0].Outcome != scheduler.Lost {
		t.Errorf("the first to end %+v, then %+v", first, second)
	}
	if ready := v.Job(1).ReadyCount(); ready != 1 {
		t.Errorf("%d bundles may start, want the gang", ready)
	}
}

package fair

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/plugins/fair/preemption"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// random is a cluster that is filled from nothing in one round.
type random struct {
	seed   uint64
	slots  int
	pools  []randomPool
	demand []int // of each job
	in     []int // its pool
}

type randomPool struct {
	weight   float64
	min, max int
}

func drawCluster(seed uint64) random {
	rng := rand.New(rand.NewPCG(seed, 9))
	c := random{seed: seed}
	for range 1 + rng.IntN(6) {
		p := randomPool{weight: float64(1+rng.IntN(20)) / 4}
		if rng.IntN(3) == 0 {
			p.min = rng.IntN(6)
		}
		if rng.IntN(4) == 0 {
			p.max = max(p.min, 1) + rng.IntN(8)
		}
		c.pools = append(c.pools, p)
	}
	for range 1 + rng.IntN(8) {
		c.demand = append(c.demand, rng.IntN(12))
		c.in = append(c.in, rng.IntN(len(c.pools)))
	}
	c.slots = rng.IntN(40)
	return c
}

func (c random) settings() string {
	var s strings.Builder
	s.WriteString("allocations:\n  pools:\n")
	for i, p := range c.pools {
		fmt.Fprintf(&s, "    p%d: {weight: %v, min-share: %d", i, p.weight, p.min)
		if p.max > 0 {
			fmt.Fprintf(&s, ", max-share: %d", p.max)
		}
		s.WriteString("}\n")
	}
	return s.String()
}

// run fills the cluster and returns the shares that the policy computes.
func (c random) run(t *testing.T) (launched int, status []scheduler.PoolStatus) {
	p := &Policy{}
	if _, err := p.Start(scheduler.Config{Text: []byte(c.settings())}, scheduler.Snapshot{}, policytest.Environment()); err != nil {
		t.Fatalf("seed %d: %v\n%s", c.seed, err, c.settings())
	}
	slots := []scheduler.SlotCount{{Kind: scheduler.DefaultKind, Count: c.slots}}
	r := scheduler.Round{Number: 1, Now: 1, Offers: []scheduler.Offer{{Launcher: 1, Free: slots}}}
	r.Events = append(r.Events, scheduler.LauncherJoined{Launcher: 1, Slots: slots})
	b := scheduler.BundleID(0)
	for i, n := range c.demand {
		id := scheduler.JobID(i + 1)
		stages := []scheduler.Stage{{Groups: n, Kind: scheduler.DefaultKind, Slots: 1}}
		r.Events = append(r.Events, scheduler.JobSubmitted{Job: scheduler.Job{ID: id, Pool: fmt.Sprint("p", c.in[i]), Stages: stages}})
		for range n {
			b++
			g := []scheduler.Group{{Kind: scheduler.DefaultKind, Slots: 1}}
			r.Events = append(r.Events, scheduler.BundleReady{Job: id, Bundle: b, Groups: g})
		}
	}
	d, err := p.AssignTasks(r)
	if err != nil {
		t.Fatalf("seed %d: %v", c.seed, err)
	}
	s, err := p.Status()
	if err != nil {
		t.Fatal(err)
	}
	return len(d.Launch), s.Pools
}

// TestTenThousandClusters: nobody is above its demand or maximum, no slot idles
// while work fits, minimums are met as far as there are slots, shares add up, and
// more weight never means a smaller share.
func TestTenThousandClusters(t *testing.T) {
	for seed := range uint64(10_000) {
		c := drawCluster(seed)
		launched, pools := c.run(t)
		could, floors, shares, running := 0, 0, 0.0, 0
		for _, p := range pools {
			could += p.Demand
			floors += min(p.MinShare, p.Demand)
			shares += p.FairShare
			running += p.Running
			if p.Running > p.Demand || p.MaxShare > 0 && p.Running > p.MaxShare || p.FairShare > float64(p.Demand)+preemption.Slack {
				t.Fatalf("seed %d: pool %+v has too much", seed, p)
			}
		}
		if want := min(could, c.slots); launched != want || running != want {
			t.Fatalf("seed %d: %d launched on %d slots, want %d: %+v", seed, launched, c.slots, want, pools)
		}
		if want := float64(min(could, c.slots)); shares < want-preemption.Slack || shares > want+preemption.Slack {
			t.Fatalf("seed %d: shares add up to %v, want %v: %+v", seed, shares, want, pools)
		}
		for _, p := range pools {
			if floors <= c.slots && p.Running < min(p.MinShare, p.Demand) {
				t.Fatalf("seed %d: pool %+v is below its minimum", seed, p)
			}
		}
		if seed%10 != 0 {
			continue
		}
		i := int(seed/10) % len(c.pools)
		c.pools[i].weight *= 3
		_, heavier := c.run(t)
		for n, p := range heavier {
			if p.Name == fmt.Sprint("p", i) && p.FairShare < pools[n].FairShare-preemption.Slack {
				t.Fatalf("seed %d: pool %+v had %v with a third of the weight", seed, p, pools[n].FairShare)
			}
		}
	}
}

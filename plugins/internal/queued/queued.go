// Package queued compares the queue that a policy shows with what it does. Slots come free one
// after the other while demand stays as it is, and jobs must start work in the order of the queue.
//
//	func TestQueue(t *testing.T) {
//		queued.Run(t, queued.Game{Seeds: 50, Settings: settings, Job: job}, func() scheduler.TaskScheduler { return New() })
//	}
//
// It is for tests of this folder's policies only: the contract promises nothing of a queue.
package queued

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Game is the game that is played.
type Game struct {
	Seeds uint64
	// Settings draws the policy's, which let it take no slots back.
	Settings func(*rand.Rand) string
	// Job draws user, pool, priority and properties of a job, and whatever else but its layers.
	Job func(*rand.Rand) cluster.Spec
	// Asked is how long after the beginning the queue is asked for; 0: a second.
	Asked time.Duration
}

const (
	slots = 40 // that come free
	// begun jobs run something before the slots come free, and want more; others come behind them.
	begunMax, othersMax, wantsMax = 4, 6, 9
)

// Run plays a game with each seed.
func Run(t *testing.T, g Game, fresh func() scheduler.TaskScheduler) {
	told := 0
	for seed := range g.Seeds {
		told += g.play(t, seed, fresh)
	}
	if told < 2*int(g.Seeds) {
		t.Errorf("%d jobs were in %d queues: the games say nothing", told, g.Seeds)
	}
}

func (g *Game) play(t *testing.T, seed uint64, fresh func() scheduler.TaskScheduler) int {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 4))
	p := policytest.Play(t, g.Settings(rng), fresh)
	asked := max(g.Asked, time.Second)
	p.Cluster.Exact = false // the hog's tasks have to end one after the other
	p.Launchers(1, slots)
	p.Cluster.Submit(layers(cluster.Spec{Name: "hog", User: "hog", Pool: "hog"}, slots, 4*asked)) // each task ends at a time of its own
	p.Until(time.Millisecond)
	for n := range 1 + rng.IntN(begunMax) {
		runs := 1 + rng.IntN(3)
		p.Cluster.Join(scheduler.LauncherID(n+2), cluster.Rack(1), 1<<40, scheduler.SlotCount{Kind: scheduler.DefaultKind, Count: runs})
		p.Cluster.Submit(layers(g.Job(rng), runs+rng.IntN(wantsMax), 1000*time.Hour))
		p.Until(time.Duration(n+2) * time.Millisecond)
	}
	for range rng.IntN(othersMax) {
		p.Cluster.Submit(layers(g.Job(rng), 1+rng.IntN(wantsMax), 1000*time.Hour))
		p.Until(p.Cluster.Now().Sub(p.Begin) + time.Millisecond)
	}
	p.Until(asked)
	if launched := launches(p.Decisions, nil); len(launched) == 0 {
		t.Fatalf("seed %d: nothing runs", seed)
	}
	status, err := p.Policy.Status()
	if err != nil {
		t.Fatal(err)
	}
	if err := status.Check(); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	before := len(p.Decisions)
	p.Until(20 * asked)
	of := map[scheduler.BundleID]scheduler.JobID{}
	for _, e := range p.Events {
		if e, is := e.(scheduler.BundleReady); is {
			of[e.Bundle] = e.Job
		}
	}
	starts := launches(p.Decisions[before:], of)
	var queue []scheduler.JobID
	var why strings.Builder
	for _, q := range status.Queue {
		fmt.Fprintf(&why, "\n%s: %s", q.Job, q.Why)
		queue = append(queue, q.Job)
		if q.Why == "" {
			t.Errorf("seed %d: nothing says why %s stands where it does", seed, q.Job)
		}
	}
	if len(queue) < len(starts) || !slices.Equal(queue[:len(starts)], starts) {
		t.Fatalf("seed %d: the queue was %v, and jobs started in the order %v%s", seed, queue, starts, why.String())
	}
	return len(starts)
}

func layers(s cluster.Spec, tasks int, run time.Duration) cluster.Spec {
	s.Layers = []cluster.Layer{{Bundles: tasks, Groups: []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: 1}}, Run: run}}
	return s
}

// launches lists the jobs that were launched something of, each once, in the order of the first.
func launches(all []scheduler.Decisions, of map[scheduler.BundleID]scheduler.JobID) (jobs []scheduler.JobID) {
	seen := map[scheduler.JobID]bool{}
	for _, d := range all {
		for _, l := range d.Launch {
			if id := of[l.Bundle]; !seen[id] {
				seen[id] = true
				jobs = append(jobs, id)
			}
		}
	}
	return jobs
}

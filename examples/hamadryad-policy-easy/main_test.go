package main

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestConformance(t *testing.T) { policytest.Run(t, easy.New, policytest.Options{}) }

func job(slots int, run time.Duration) cluster.Spec {
	groups := []cluster.GroupSpec{{Kind: scheduler.DefaultKind, Slots: slots}}
	return cluster.Spec{Name: "job", Layers: []cluster.Layer{{Bundles: 1, Groups: groups, Run: run, Expected: run}}}
}

// arrivals are jobs of several widths and times on a launcher of 4 slots, one each minute.
func arrivals() (all []arrival) {
	for i := range 60 {
		minutes := time.Duration(1 + i*7%5)
		all = append(all, arrival{time.Duration(i) * time.Minute, job([]int{3, 4, 1, 1, 2}[i%5], minutes*time.Minute)})
	}
	return all
}

// arrival is a job that is submitted at a time from the beginning.
type arrival struct {
	at  time.Duration
	job cluster.Spec
}

// slack is how much later than planned a bundle may start: attempts end as they are reported.
const slack = time.Second

// play plays jobs on launchers of 4 slots until all have ended. It returns the mean time that they waited, and by how
// much each of those with a reservation started after its first plan.
func play(t *testing.T, fresh func() scheduler.TaskScheduler, launchers int, jobs []arrival) (wait time.Duration, late []time.Duration) {
	t.Helper()
	p := policytest.Play(t, "", fresh)
	p.Launchers(launchers, 4)
	slices.SortStableFunc(jobs, func(a, b arrival) int { return cmp.Compare(a.at, b.at) }) // the order of their ids
	for _, j := range jobs {
		p.At(j.at, j.job)
	}
	first := map[scheduler.BundleID]scheduler.Time{}
	p.Look = func(d scheduler.Decisions) {
		for _, r := range d.Reserve {
			if _, known := first[r.Bundle]; !known && r.Until != 0 {
				first[r.Bundle] = r.Until.Add(-unknown)
			}
		}
		for _, l := range d.Launch {
			if at, known := first[l.Bundle]; known {
				late = append(late, p.Cluster.Now().Sub(at))
			}
		}
	}
	p.Until(7 * 24 * time.Hour)
	for id, sojourn := range p.Sojourn {
		wait += sojourn - jobs[id-1].job.Layers[0].Run
	}
	if len(p.Sojourn) != len(jobs) {
		t.Fatalf("%d jobs ended, want %d", len(p.Sojourn), len(jobs))
	}
	return wait / time.Duration(len(jobs)), late
}

// On a workload with right estimates jobs wait less than under FIFO, and no head starts later than first planned.
func TestBackfilling(t *testing.T) {
	wait, late := play(t, easy.New, 1, arrivals())
	other, _ := play(t, fifo.New, 1, arrivals())
	if wait >= other {
		t.Errorf("jobs wait %v in the mean, and %v under FIFO", wait, other)
	}
	if len(late) == 0 {
		t.Error("no job had a reservation")
	}
	for _, d := range late {
		if d > slack {
			t.Errorf("a head started %v after its first reservation", d)
		}
	}
	t.Logf("mean wait %v, under FIFO %v; %d jobs had reservations", wait, other, len(late))
}

var seeds = flag.Int("seeds", 8, "random workloads for each kind of estimates")

// longest is the longest time that work of a random workload takes.
const longest = 10 * time.Minute

// lateMax is how much later than first planned a bundle starts at most, if work takes longer than expected.
const lateMax = 2 * longest

// wrong are kinds of estimates: the expected time of work that takes run; 0: there is none.
var wrong = map[string]struct {
	of    func(rng *rand.Rand, run time.Duration) time.Duration
	names bool // each job has a name of its own, else the last run of one tells what the next is expected to take
	bound bool // no work takes longer than expected
}{
	"exact":        {func(_ *rand.Rand, run time.Duration) time.Duration { return run }, true, true},
	"too large":    {func(rng *rand.Rand, run time.Duration) time.Duration { return run * time.Duration(1+rng.IntN(6)) }, true, true},
	"missing":      {func(*rand.Rand, time.Duration) time.Duration { return 0 }, true, true},
	"some missing": {func(rng *rand.Rand, run time.Duration) time.Duration { return run * time.Duration(2*rng.IntN(2)) }, true, true},
	"of past runs": {func(*rand.Rand, time.Duration) time.Duration { return 0 }, false, false},
	"too small":    {func(rng *rand.Rand, run time.Duration) time.Duration { return run / time.Duration(1+rng.IntN(6)) }, true, false},
	"anything": {func(rng *rand.Rand, run time.Duration) time.Duration {
		return []time.Duration{0, 1, run / 3, run, 5 * run}[rng.IntN(5)]
	}, true, false},
}

// gang draws a job of one bundle, with up to four groups of one to four slots.
func gang(rng *rand.Rand, name string, expected func(*rand.Rand, time.Duration) time.Duration) cluster.Spec {
	run := longest - time.Second*time.Duration(rng.IntN(590))
	l := cluster.Layer{Bundles: 1, Run: run, Expected: expected(rng, run)}
	for range 1 + max(rng.IntN(6)-2, 0) {
		l.Groups = append(l.Groups, cluster.GroupSpec{Kind: scheduler.DefaultKind, Slots: 1 + rng.IntN(4)})
	}
	return cluster.Spec{Name: name, Layers: []cluster.Layer{l}}
}

// TestWrongEstimates: gangs of several sizes all end, whatever is expected of them. No bundle starts later than first
// planned if no work takes longer than expected. Otherwise it starts at most lateMax later.
func TestWrongEstimates(t *testing.T) {
	for name, w := range wrong {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var late []time.Duration           // the starts of bundles with a reservation, after their first plan
			for seed := range uint64(*seeds) { //nolint:gosec // it is not negative
				rng := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // seeded on purpose
				var jobs []arrival
				for i := range 40 {
					name := "gang"
					if w.names {
						name = fmt.Sprint(name, i)
					}
					jobs = append(jobs, arrival{time.Second * time.Duration(rng.IntN(3600)), gang(rng, name, w.of)})
				}
				_, more := play(t, easy.New, 4, jobs)
				late = append(late, more...)
				if latest := slices.Max(append(more, 0)); latest > lateMax || w.bound && latest > slack {
					t.Errorf("seed %d: a bundle starts %s after its first plan", seed, latest)
				}
			}
			slices.Sort(late)
			if len(late) == 0 || !w.bound && late[len(late)-1] <= slack {
				t.Fatal("the workloads say nothing of it")
			}
			t.Logf("%d bundles had a reservation; the latest started %s after its first plan", len(late), late[len(late)-1])
		})
	}
}

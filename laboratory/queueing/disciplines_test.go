package queueing

import (
	"math"
	"testing"

	"github.com/hamadryad/hamadryad/laboratory/traces"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/plugins/hfsp/virtual"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Jobs of a single server end as in the simulator of HFSP's authors.
func TestVectors(t *testing.T) {
	all, err := Vectors()
	if err != nil || len(all) != 21 {
		t.Fatalf("%d vectors, %v", len(all), err)
	}
	for i := range all {
		if err := all[i].Check(); err != nil {
			t.Error(err)
		}
	}
	all[0].Completions[all[0].Jobs[0].Job]++
	if all[0].Check() == nil {
		t.Error("a vector that is wrong holds")
	}
}

// The first 50 jobs of FB-2009_0 on a single server, sizes known, at a load of 0.9, have
// the mean sojourn times that are published of the exact disciplines.
func TestExactDisciplinesOnSWIM(t *testing.T) {
	visits := swim(t)
	for d, want := range map[Discipline]float64{FIFO: 553.9013, PS: 161.9531, SRPT: 97.6889, FSP: 100.7452, FSPSharing: 100.7452} {
		if mean := MeanSojourn(visits, Serve(d, visits)); math.Abs(mean-want) > 0.00006 {
			t.Errorf("discipline %d: the mean sojourn time is %.4f s, not %.4f s", d, mean, want)
		}
	}
}

func swim(t *testing.T) []Visit {
	t.Helper()
	s := workload.DefaultSWIM()
	s.Block, s.ReduceBytes = 1<<50, 1<<50 // the figure depends on bytes, not on tasks
	w, err := traces.SWIM(s)
	if err != nil {
		t.Fatal(err)
	}
	return Visits(w, 50, 0.9)
}

// The virtual cluster by which HFSP orders jobs is processor sharing, when it has one slot.
func TestHFSPsVirtualClusterSharesTheServer(t *testing.T) {
	visits := swim(t)
	c := virtual.New(1, 0)
	var jobs []*virtual.Job
	for i, v := range visits {
		c.Advance(scheduler.Time(math.Round(v.At * 1e9)))
		jobs = append(jobs, c.Add(virtual.ID{Job: scheduler.JobID(i + 1)}, virtual.Spec{Size: v.Size, Weight: 1, Cap: 1}, 0))
	}
	for i, end := range Serve(PS, visits) {
		if got := float64(c.Finish(jobs[i])) / 1e9; math.Abs(got-end) > 1e-5 {
			t.Errorf("job %d ends at %.6f s in HFSP's virtual cluster, and at %.6f s on the server", i, got, end)
		}
	}
}

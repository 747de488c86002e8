package lifecycle_test

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/coretest"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A policy gets the author's expected time of a stage. Without one it gets the median of the last
// successful job of the same program and name. A job that fails leaves none.
func TestExpectedTimes(t *testing.T) {
	h := coretest.New(t)
	h.StartPolicy(0)
	l := h.Launcher("a", 8)
	submit := func(program, name string, author time.Duration) *state.Job {
		spec := coretest.MapReduce(1, 1)
		spec.Program, spec.Name = program, name
		spec.Graph.Stages[0].ExpectedNs = int64(author)
		return h.Job(spec)
	}
	run := func(j *state.Job, took ...time.Duration) {
		for i, d := range took {
			a := h.RunBundle(j, i, l).Attempts[0]
			h.Later(d)
			if i == 0 {
				h.Finish(a, coretest.Stored(0, 0))
			} else {
				h.Finish(a)
			}
		}
	}
	told := func(j *state.Job, stage int) (time.Duration, scheduler.EstimateSource) {
		s := j.ForPolicy().Stages[stage]
		return s.Expected, s.ExpectedBy
	}
	first := submit("sha", "count", 0)
	if d, by := told(first, 0); d != 0 || by != scheduler.EstimateNone {
		t.Errorf("nothing ran, and %v is expected by %v", d, by)
	}
	run(first, 8*time.Second, 3*time.Second)
	if h.Cluster.Jobs.Get(first.ID) != nil {
		t.Fatal("the first job has not ended")
	}
	for _, x := range []struct {
		what          string
		program, name string
		author        time.Duration
		stage         int
		want          time.Duration
		by            scheduler.EstimateSource
	}{
		{"the same program's map", "sha", "count", 0, 0, 8 * time.Second, scheduler.EstimatePastRun},
		{"its reduce", "sha", "count", 0, 1, 3 * time.Second, scheduler.EstimatePastRun},
		{"the author's word", "sha", "count", time.Minute, 0, time.Minute, scheduler.EstimateAuthor},
		{"another name", "sha", "sort", 0, 0, 0, scheduler.EstimateNone},
		{"another program", "other", "count", 0, 0, 0, scheduler.EstimateNone},
	} {
		d, by := told(submit(x.program, x.name, x.author), x.stage)
		if d < x.want*15/16 || d > x.want*17/16 || by != x.by {
			t.Errorf("%s: got %v by %v, want %v by %v", x.what, d, by, x.want, x.by)
		}
	}
	h.Checked()
}

// The records of past jobs are bounded: the oldest go first.
func TestPastRunsAreBounded(t *testing.T) {
	h := coretest.New(t)
	h.Step.Set.PastStagesMax = 2
	h.StartPolicy(0)
	l := h.Launcher("a", 8)
	submit := func(name string) *state.Job {
		spec := coretest.Maps(1)
		spec.Name = name
		return h.Job(spec)
	}
	for _, name := range []string{"a", "b", "a", "c"} {
		j := submit(name)
		a := h.RunBundle(j, 0, l).Attempts[0]
		h.Later(time.Second)
		h.Finish(a)
	}
	for name, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if got := submit(name).ForPolicy().Stages[0].Expected > 0; got != want {
			t.Errorf("%s: known is %t, want %t", name, got, want)
		}
	}
}

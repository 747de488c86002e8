package metrics

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func ended(id scheduler.JobID) *wire.JobStatus {
	return &wire.JobStatus{Summary: &wire.JobSummary{Job: uint64(id)}}
}

// Pools' numbers are the sums of their jobs', in whatever order jobs come, change, move and end.
func TestPoolsAreTheSumsOfTheirJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, live := NewRows(), map[scheduler.JobID]changes.Job{}
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			var f core.Changes
			for range rapid.IntRange(0, 3).Draw(t, "jobs") {
				j := changes.Job{
					ID: scheduler.JobID(rapid.IntRange(1, 6).Draw(t, "job")), Pool: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "pool"),
					Groups: 10, Finished: rapid.IntRange(0, 10).Draw(t, "finished"), Running: rapid.IntRange(0, 4).Draw(t, "running"),
				}
				f.Jobs, live[j.ID] = append(f.Jobs, j), j
			}
			for range rapid.IntRange(0, 2).Draw(t, "ends") {
				id := scheduler.JobID(rapid.IntRange(1, 6).Draw(t, "ended"))
				f.Ended = append(f.Ended, ended(id))
				delete(live, id)
			}
			r.Apply(f)
		}
		want := map[string]has{}
		for _, j := range live {
			pending := max(0, j.Groups-j.Finished-j.Running) // a second attempt runs beside the first
			want[j.Pool] = want[j.Pool].more(has{jobs: 1, running: j.Running, pending: pending}, 1)
		}
		if !maps.Equal(r.pools, want) {
			t.Fatalf("pools have %v, want %v", r.pools, want)
		}
	})
}

// The number of pools with metrics of their own is bounded, and nothing of the others is lost.
func TestPoolsAreBounded(t *testing.T) {
	pools := map[string]has{"large": {jobs: 1, running: 9}, otherPools: {jobs: 1, running: 8}, "small": {jobs: 5, pending: 1}, "smallest": {jobs: 4}}
	got := largest(pools, 3)
	if want := map[string]has{"large": pools["large"], "small": pools["small"], otherPools: {jobs: 5, running: 8}}; !maps.Equal(got, want) {
		t.Errorf("shown are %v, want %v", got, want)
	}
	r := NewRows()
	var f core.Changes
	for i := range poolsMax + 5 {
		f.Jobs = append(f.Jobs, changes.Job{ID: scheduler.JobID(i + 1), Pool: fmt.Sprint(i), Groups: 1})
	}
	r.Apply(f)
	families, err := registered(r).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range families {
		if n := len(m.GetMetric()); strings.HasPrefix(m.GetName(), "hamadryad_pool_") && n != poolsMax+1 {
			t.Errorf("%s shows %d pools", m.GetName(), n)
		}
	}
}

func registered(r *Rows) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(r)
	return registry
}

// counted is how many a histogram has, and their sum in seconds.
func counted(t *testing.T, r *Rows, name, outcome string) (n uint64, sum float64) {
	t.Helper()
	families, err := registered(r).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (outcome == "" || m.GetLabel()[0].GetValue() == outcome) {
				return m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum()
			}
		}
	}
	return 0, 0
}

// Each attempt is counted once: its wait when it is first reported, its time when it ends.
func TestTimesOfAttempts(t *testing.T) {
	at := func(d time.Duration) scheduler.Time { return scheduler.Time(0).Add(d) }
	r := NewRows()
	tell := func(rows ...changes.Attempt) { r.Apply(core.Changes{ChangeSet: changes.ChangeSet{Attempts: rows}}) }
	first := changes.Attempt{ID: 1, State: changes.Assigned, Ready: at(time.Second), Launched: at(4 * time.Second)}
	second := changes.Attempt{ID: 2, State: changes.Assigned, Speculative: true, Launched: at(5 * time.Second)}
	tell(first, second)
	first.State, first.Started = changes.Running, at(6*time.Second)
	tell(first)
	if n, sum := counted(t, r, "hamadryad_attempt_wait_seconds", ""); n != 1 || sum != 3 {
		t.Errorf("%d waited, %v s", n, sum)
	}
	first.State, first.Outcome, first.Since, first.Suspended = changes.Ended, scheduler.Finished, at(20*time.Second), 4*time.Second
	second.State, second.Outcome, second.Since = changes.Ended, scheduler.Lost, at(20*time.Second) // before it started
	brief := changes.Attempt{ID: 3, State: changes.Ended, Outcome: scheduler.Lost, Ready: at(20 * time.Second), Launched: at(22 * time.Second), Since: at(22 * time.Second)}
	before := changes.Attempt{ID: 4, State: changes.Ended, Outcome: scheduler.Finished, Started: at(1), Since: at(time.Hour)} // in the life before
	tell(first, second, brief, before)
	if n, sum := counted(t, r, "hamadryad_attempt_wait_seconds", ""); n != 2 || sum != 5 {
		t.Errorf("with one that lived for a step alone %d waited, %v s", n, sum)
	}
	if n, sum := counted(t, r, "hamadryad_attempt_duration_seconds", "finished"); n != 1 || sum != 10 {
		t.Errorf("%d finished, in %v s", n, sum)
	}
	if n, _ := counted(t, r, "hamadryad_attempt_duration_seconds", "lost"); n != 0 {
		t.Errorf("%d were lost that never ran", n)
	}
	if len(r.launched) != 0 {
		t.Errorf("%d that ended are remembered", len(r.launched))
	}
}

// Attempts that lived when the manager began had their wait counted by the earlier life; their end
// counts now.
func TestTimesOfAttemptsOfTheLifeBefore(t *testing.T) {
	at := func(seconds int) scheduler.Time { return scheduler.Time(0).Add(time.Duration(seconds) * time.Second) }
	r := NewRows()
	a := changes.Attempt{ID: 1, State: changes.Running, Ready: at(1), Launched: at(4), Started: at(5)}
	over := changes.Attempt{ID: 2, State: changes.Ended, Outcome: scheduler.Finished, Started: at(5), Since: at(6)}
	all := core.Changes{ChangeSet: changes.ChangeSet{Attempts: []changes.Attempt{a, over}}}
	r.BeginWith(all)
	r.Apply(all)
	if n, sum := counted(t, r, "hamadryad_attempt_wait_seconds", ""); n != 0 {
		t.Errorf("%d waited, %v s", n, sum)
	}
	a.State, a.Outcome, a.Since = changes.Ended, scheduler.Finished, at(9)
	next := changes.Attempt{ID: 3, State: changes.Assigned, Ready: at(9), Launched: at(10)}
	r.Apply(core.Changes{ChangeSet: changes.ChangeSet{Attempts: []changes.Attempt{a, next}}})
	if n, sum := counted(t, r, "hamadryad_attempt_wait_seconds", ""); n != 1 || sum != 1 {
		t.Errorf("of those that were launched now %d waited, %v s", n, sum)
	}
	if n, sum := counted(t, r, "hamadryad_attempt_duration_seconds", "finished"); n != 1 || sum != 4 {
		t.Errorf("%d finished, in %v s", n, sum)
	}
}

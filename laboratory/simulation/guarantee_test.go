package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/plugins/fair"
	"github.com/hamadryad/hamadryad/plugins/preemptivefair"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// production is the workload of TestAMinimumIsAlwaysGiven: two long tasks, then a job of two short
// tasks every 200 s.
func production(jobs, tasksEach int) *workload.Workload {
	w := &workload.Workload{Jobs: []workload.Job{job("batch", 0, tasks(20_000*time.Second, 20_000*time.Second), nil)}}
	w.Jobs[0].Pool = "batch"
	for i := range jobs {
		j := job(fmt.Sprint("production", i+1), time.Duration(i+1)*200*time.Second, tasks(make([]time.Duration, tasksEach)...), nil)
		for k := range j.Stages[0].Tasks {
			j.Stages[0].Tasks[k].Work = 30 * time.Second
		}
		j.Pool = "production"
		w.Jobs = append(w.Jobs, j)
	}
	return w
}

// TestAMinimumIsAlwaysGiven: a pool gets its minimum share as soon the tenth time as the first,
// however often the same victims lost before.
func TestAMinimumIsAlwaysGiven(t *testing.T) {
	const most = 45 * time.Second
	for _, settings := range []string{"", "preemption: {protect: 1h, times-max: 1}", "preemption: {mode: suspend, times-max: 1}", "preemption: {mode: soft, grace: 1s}"} {
		config := "allocations: {pools: {production: {min-share: {map: 2}, min-share-timeout: 5s}}}\n" + settings
		r := play(t, Options{
			Workload: production(10, 2), Cluster: bare(2, map[string]int{"map": 1}), Config: scheduler.Config{Text: []byte(config)},
		}, fair.New())
		for i, j := range r.Jobs[1:] {
			if j.Sojourn() > most {
				t.Errorf("%q: job %d took %s, want at most %s", settings, i+1, j.Sojourn(), most)
			}
		}
	}
}

// TestANewcomerAlwaysGetsItsShare: under preemptive-fair too a newcomer gets its first share as soon
// the tenth time as the first. The job that loses keeps a slot, and ends.
func TestANewcomerAlwaysGetsItsShare(t *testing.T) {
	const most = 40 * time.Second
	r := play(t, Options{Workload: production(10, 1), Cluster: bare(2, map[string]int{"map": 1})}, preemptivefair.New())
	for i, j := range r.Jobs[1:] {
		if j.Sojourn() > most {
			t.Errorf("job %d took %s, want at most %s", i+1, j.Sojourn(), most)
		}
	}
}

// TestAMinimumIsGivenWhereNothingMoreMaySuspend: what the manager's bound on suspended attempts
// forbids to suspend is killed for a pool below its minimum share.
func TestAMinimumIsGivenWhereNothingMoreMaySuspend(t *testing.T) {
	const config = "allocations: {pools: {production: {min-share: {map: 2}, min-share-timeout: 5s}}}\npreemption: {mode: suspend}"
	r := play(t, Options{
		Workload: production(5, 2), Cluster: bare(1, map[string]int{"map": 2}), Config: scheduler.Config{Text: []byte(config)},
		Settings: func(s *core.Settings) { s.SuspendedMax = 1 },
	}, fair.New())
	for i, j := range r.Jobs[1:] {
		if j.Sojourn() > 45*time.Second {
			t.Errorf("job %d took %s, want at most 45 s", i+1, j.Sojourn())
		}
	}
	if s := r.Jobs[0].Stages[0]; s.Preempted == 0 || s.Suspended == 0 {
		t.Errorf("of the batch %d attempts were killed and %d suspended, want some of each", s.Preempted, s.Suspended)
	}
}

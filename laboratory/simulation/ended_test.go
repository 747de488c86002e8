package simulation

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/hfsp"
	"github.com/hamadryad/hamadryad/plugins/preemptivefair"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The table of attempts has each attempt once, with ascending times, in runs with failures, preemptions,
// suspensions and second attempts. Its sums are those of the run's result.
func TestAttemptsAreTheResult(t *testing.T) {
	for name, newPolicy := range map[string]func() scheduler.TaskScheduler{"preemptive-fair": preemptivefair.New, "hfsp": hfsp.New} {
		for seed := range uint64(2) {
			w, c := contested(t, seed)
			var told []Attempt
			r := play(t, Options{Workload: w, Cluster: c, Attempts: func(a *Attempt) { told = append(told, *a) }}, newPolicy())
			seen := map[scheduler.AttemptID]bool{}
			finished := map[[3]int]int{}
			near := make([]Stage, len(w.Jobs))
			for _, a := range told {
				if seen[a.ID] {
					t.Errorf("%s, seed %d: attempt %d is told twice", name, seed, a.ID)
				}
				seen[a.ID] = true
				checkTimes(t, &a)
				if a.Outcome == scheduler.Finished {
					finished[[3]int{a.Job, a.Stage, a.Task}]++
					if a.HasInput {
						near[a.Job].Near[a.Near]++
					}
				}
			}
			for i := range w.Jobs {
				var sum Stage
				for s := range w.Jobs[i].Stages {
					for k := range w.Jobs[i].Stages[s].Tasks {
						if finished[[3]int{i, s, k}] == 0 {
							t.Errorf("%s, seed %d: job %d, stage %d, task %d never finished", name, seed, i, s, k)
						}
					}
					for level, n := range r.Jobs[i].Stages[s].Near {
						sum.Near[level] += n
					}
				}
				for level, n := range near[i].Near { // one that finished just before its launcher failed is lost to the manager
					if n > sum.Near[level] {
						t.Errorf("%s, seed %d: job %d has localities %v in its attempts, and %v in the result", name, seed, i, near[i].Near, sum.Near)
					}
				}
			}
			if plain := play(t, Options{Workload: w, Cluster: c}, newPolicy()); plain.Ended != r.Ended || plain.Steps != r.Steps {
				t.Errorf("%s, seed %d: a run whose attempts are told ends at %v after %d steps, and another at %v after %d", name, seed, r.Ended, r.Steps, plain.Ended, plain.Steps)
			}
		}
	}
}

func checkTimes(t *testing.T, a *Attempt) {
	t.Helper()
	last := time.Duration(0)
	for _, at := range []time.Duration{a.Ready, a.Launched, a.Started, a.Executing, a.Ended} {
		if at != Never && at < last {
			t.Errorf("the times of attempt %d are out of order: %+v", a.ID, *a)
		}
		last = max(last, at)
	}
	if a.Suspended < 0 || a.Suspended > a.Ended-a.Launched || a.Launched == Never || a.Launcher == "" || a.Slots < 1 || a.Outcome == 0 {
		t.Errorf("attempt %d: %+v", a.ID, *a)
	}
}

// A launcher's use is what the attempts on it held, and it is never busy while it is not there.
func TestUsesAreTheSlotTime(t *testing.T) {
	for seed := range uint64(2) {
		w, c := contested(t, seed)
		r := play(t, Options{Workload: w, Cluster: c}, hfsp.New())
		busy, held := time.Duration(0), time.Duration(0)
		for i := range r.Jobs {
			for s := range r.Jobs[i].Stages {
				busy += r.Jobs[i].Stages[s].Busy
			}
		}
		away := false
		for i, u := range r.Uses {
			held += u.Held
			if u.Busy > u.Up || u.Up > r.Ended || u.Held < u.Busy {
				t.Errorf("seed %d: launcher %d: %+v of %v", seed, i, u, r.Ended)
			}
			away = away || u.Up < r.Ended
		}
		if held != busy || len(r.Uses) != c.Launchers() || !away {
			t.Errorf("seed %d: %d launchers held slots for %v, and jobs for %v; some were away: %v", seed, len(r.Uses), held, busy, away)
		}
	}
}

// A policy is asked for its status at least so far apart, and the run is the same as without.
func TestStatusIsAskedBetweenSteps(t *testing.T) {
	w, c := contested(t, 1)
	var at []time.Duration
	every := 20 * time.Second
	told := func(now time.Duration, s scheduler.Status, err error) {
		if err != nil || s.Check() != nil {
			t.Error(err, s.Check())
		}
		at = append(at, now)
	}
	r := play(t, Options{Workload: w, Cluster: c, Status: told, StatusEvery: func() time.Duration { return every }}, hfsp.New())
	for i := 1; i < len(at); i++ {
		if at[i]-at[i-1] < every {
			t.Errorf("it was asked at %v after %v", at[i], at[i-1])
		}
	}
	if plain := play(t, Options{Workload: w, Cluster: c}, hfsp.New()); len(at) < 10 || plain.Ended != r.Ended || plain.Rounds != r.Rounds {
		t.Errorf("it was asked %d times, and ended at %v after %d rounds; another at %v after %d", len(at), r.Ended, r.Rounds, plain.Ended, plain.Rounds)
	}
}

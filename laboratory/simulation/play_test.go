package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/plugins/drf"
	"github.com/hamadryad/hamadryad/plugins/fair"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/plugins/hfsp"
	"github.com/hamadryad/hamadryad/plugins/preemptivefair"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// bare is a cluster on which nothing costs time but work.
func bare(launchers int, slots map[string]int) *cluster.Cluster {
	c := cluster.Default(launchers, slots)
	m := &c.Model
	m.Start, m.Stop, m.Latency, m.Suspend, m.Resume = 0, 0, 0, cluster.Cost{}, cluster.Cost{}
	return c
}

func tasks(works ...time.Duration) (list []workload.Task) {
	for _, d := range works {
		list = append(list, workload.Task{Work: d})
	}
	return list
}

// job returns a job of maps, and of reduces if there are any.
func job(id string, at time.Duration, maps, reduces []workload.Task) workload.Job {
	j := workload.Job{ID: id, Submit: at, Stages: []workload.Stage{{Name: "map", Kind: workload.MapKind, Tasks: maps}}}
	if len(reduces) > 0 {
		j.Stages = append(j.Stages, workload.Stage{Name: "reduce", Kind: workload.ReduceKind, After: []int{0}, Tasks: reduces})
	}
	return j
}

func play(t *testing.T, o Options, p scheduler.TaskScheduler) *Result {
	t.Helper()
	o.Host = policy.InProcess(p)
	r, err := Play(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The results equal those computed by hand: first in, first out on two slots, and a reduce after
// all maps.
func TestByHand(t *testing.T) {
	w := &workload.Workload{Jobs: []workload.Job{
		job("a", 0, tasks(10*time.Second, 20*time.Second, 10*time.Second), tasks(5*time.Second)),
		job("b", time.Second, tasks(4*time.Second), nil),
	}}
	r := play(t, Options{Workload: w, Cluster: bare(1, map[string]int{"map": 2, "reduce": 1}), Tick: -1, Think: -1}, fifo.New())
	a, b := r.Jobs[0], r.Jobs[1]
	near := func(got, want time.Duration) bool { return (got - want).Abs() < 100*time.Millisecond } // the core's own pauses between rounds
	if !near(a.Stages[0].Ended, 20*time.Second) || !near(a.Stages[1].Began, 20*time.Second) || !near(a.Ended, 25*time.Second) {
		t.Errorf("job a: %+v", a)
	}
	if !near(b.Stages[0].Began, 20*time.Second) || !near(b.Sojourn(), 23*time.Second) {
		t.Errorf("job b: %+v", b)
	}
	if s := a.Stages[0]; s.Attempts != 3 || !near(s.Busy, 40*time.Second) || s.Wasted != 0 || s.Preempted+s.Lost+s.Suspended != 0 {
		t.Errorf("maps of a: %+v", s)
	}
	if want := map[scheduler.SlotKind]int{"map": 2, "reduce": 1}; !maps.Equal(r.Slots, want) {
		t.Errorf("slots are %v, want %v", r.Slots, want)
	}
}

// policies are the policies that run random workloads.
var policies = map[string]func() scheduler.TaskScheduler{"fifo": fifo.New, "fair": fair.New, "preemptive-fair": preemptivefair.New, "hfsp": hfsp.New, "drf": drf.New}

// random draws a workload and a cluster on which anything may be otherwise.
func random(seed uint64) (*workload.Workload, *cluster.Cluster) {
	r := rand.New(rand.NewPCG(seed, 17))
	c := cluster.Default(1+r.IntN(8), map[string]int{"map": 1 + r.IntN(3), "reduce": 1 + r.IntN(2)})
	c.Seed = seed
	c.Groups[0].Racks = 1 + r.IntN(3)
	c.Model.Heartbeat = time.Duration(r.IntN(4)) * time.Second
	c.Model.SlowStart = []float64{0.05, 0.5, 1}[r.IntN(3)]
	c.Model.Speculation = r.IntN(2) == 0
	c.Model.Stragglers = cluster.Stragglers{Share: 0.1, Factor: 4}
	if r.IntN(2) == 0 && c.Groups[0].Count > 1 {
		c.Groups[0].FailEvery, c.Groups[0].BackAfter = time.Hour, time.Minute
	}
	w := &workload.Workload{}
	at := time.Duration(0)
	for i := range 2 + r.IntN(12) {
		works := func(n int) (list []workload.Task) {
			for range n {
				list = append(list, workload.Task{Work: time.Duration(r.IntN(60_000)) * time.Millisecond, Input: int64(r.IntN(1 << 27))})
			}
			return list
		}
		j := job(fmt.Sprint("job", i), at, works(1+r.IntN(20)), works(r.IntN(5)))
		j.Pool = fmt.Sprint("pool", r.IntN(3))
		w.Jobs = append(w.Jobs, j)
		at += time.Duration(r.IntN(30_000)) * time.Millisecond
	}
	return w, c
}

// ledger watches that no slot is given twice and that all that came ends.
type ledger struct {
	t     *testing.T
	most  map[scheduler.SlotKind]int
	held  map[scheduler.SlotKind]int
	came  int
	ended int
	last  time.Duration
}

func (l *ledger) at(at time.Duration) {
	if at < l.last {
		l.t.Errorf("it is %v after it was %v", at, l.last)
	}
	l.last = at
}
func (l *ledger) Came(at time.Duration, _ int)  { l.at(at); l.came++ }
func (l *ledger) Ended(at time.Duration, _ int) { l.at(at); l.ended++ }
func (l *ledger) Holds(at time.Duration, _ int, a *simcluster.Attempt, holds bool) {
	l.at(at)
	n := 1
	if !holds {
		n = -1
	}
	l.held[a.Start.Kind] += n
	if k := a.Start.Kind; l.held[k] < 0 || l.held[k] > l.most[k] {
		l.t.Errorf("at %v %d of %d slots of kind %s are held", at, l.held[k], l.most[k], k)
	}
}

// Random workloads under each policy: every job succeeds, all its work is done, no slot is
// given twice, and the same seed gives the same result.
func TestRandomWorkloads(t *testing.T) {
	for name, newPolicy := range policies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(6) {
				w, c := random(seed)
				l := &ledger{t: t, most: c.Slots(), held: map[scheduler.SlotKind]int{}}
				r := play(t, Options{Workload: w, Cluster: c, Watch: l}, newPolicy())
				if l.came != len(w.Jobs) || l.ended != len(w.Jobs) {
					t.Errorf("seed %d: %d jobs came and %d ended of %d", seed, l.came, l.ended, len(w.Jobs))
				}
				for i := range r.Jobs {
					checkJob(t, seed, c.Groups[0].FailEvery > 0, &w.Jobs[i], &r.Jobs[i])
				}
				if again := play(t, Options{Workload: w, Cluster: c}, newPolicy()); !reflect.DeepEqual(r, again) {
					t.Errorf("seed %d gives another result the second time", seed)
				}
			}
		})
	}
}

func checkJob(t *testing.T, seed uint64, failures bool, j *workload.Job, r *Job) {
	t.Helper()
	if r.State != wire.JobState_JOB_STATE_SUCCEEDED || r.Ended < r.Submitted || r.Submitted < j.Submit {
		t.Errorf("seed %d, job %s: %+v", seed, j.ID, r)
	}
	for s, stage := range r.Stages {
		finished := stage.Attempts - stage.Preempted - stage.Killed - stage.Lost
		if n := len(j.Stages[s].Tasks); finished < n || r.Stages[s].Lost == 0 && !failures && finished > n {
			t.Errorf("seed %d, job %s, stage %d: %d attempts finished of %d tasks", seed, j.ID, s, finished, n)
		}
		if useful := stage.Busy - stage.Wasted; useful < j.Stages[s].Work() || stage.Wasted < 0 {
			t.Errorf("seed %d, job %s, stage %d: %v of work in %v of slot time, of it %v wasted", seed, j.ID, s, j.Stages[s].Work(), stage.Busy, stage.Wasted)
		}
		if stage.Ended > r.Ended || stage.Began < r.Submitted {
			t.Errorf("seed %d, job %s, stage %d: from %v to %v in a job from %v to %v", seed, j.ID, s, stage.Began, stage.Ended, r.Submitted, r.Ended)
		}
	}
}

// A result keeps nothing else of what was played: an experiment has hundreds of them.
func TestAResultKeepsNothingElse(t *testing.T) {
	on := bare(1, map[string]int{"map": 2})
	gone := weak.Make(on)
	r := play(t, Options{Workload: &workload.Workload{Jobs: []workload.Job{job("a", 0, tasks(time.Second), nil)}}, Cluster: on}, fifo.New())
	runtime.GC()
	if gone.Value() != nil {
		t.Error("the cluster is still there after the play")
	}
	runtime.KeepAlive(r)
}

// A launcher that fails loses its running tasks and stored outputs, and joins again.
func TestALauncherFails(t *testing.T) {
	c := bare(2, map[string]int{"map": 1, "reduce": 1})
	c.Failures = []cluster.Failure{{Launcher: c.Machines()[0].Name, At: 15 * time.Second, Back: 5 * time.Second}}
	w := &workload.Workload{Jobs: []workload.Job{job("a", 0, tasks(10*time.Second, 10*time.Second, 10*time.Second), tasks(time.Second))}}
	r := play(t, Options{Workload: w, Cluster: c}, fifo.New())
	j := r.Jobs[0]
	if j.State != wire.JobState_JOB_STATE_SUCCEEDED || j.Stages[0].Attempts <= 3 || j.Stages[0].Lost != 1 || j.Stages[0].Wasted < 4*time.Second || j.Ended < 30*time.Second || j.Ended > time.Minute {
		t.Errorf("it came to %+v", j)
	}
}

// Work that no launcher can hold is named, and nothing waits for ever.
func TestWhatCanNeverBePlaced(t *testing.T) {
	w := &workload.Workload{Jobs: []workload.Job{job("a", 0, tasks(time.Second), nil), job("wide", 0, tasks(time.Second), tasks(time.Second))}}
	r := play(t, Options{Workload: w, Cluster: bare(1, map[string]int{"map": 1})}, fifo.New())
	if j := r.Jobs[1]; j.State != wire.JobState_JOB_STATE_FAILED || !strings.Contains(j.Failure, "reduce") {
		t.Errorf("it came to %+v", j)
	}
	c := bare(1, map[string]int{"map": 1})
	c.Failures = []cluster.Failure{{Launcher: c.Machines()[0].Name, At: time.Second}} // for good
	w = &workload.Workload{Jobs: []workload.Job{job("a", 10*time.Second, tasks(time.Hour), nil)}}
	_, err := Play(t.Context(), Options{Workload: w, Cluster: c, Host: policy.InProcess(fifo.New()), Stall: time.Hour})
	if stalled := (*Stalled)(nil); !errors.As(err, &stalled) || stalled.Jobs != 1 || !strings.Contains(err.Error(), "job a") {
		t.Errorf("the error is %v", err)
	}
}

func TestWhatMakesNoSense(t *testing.T) {
	w := &workload.Workload{Jobs: []workload.Job{job("a", 0, tasks(time.Second), nil)}}
	c := bare(1, map[string]int{"map": 1})
	for want, o := range map[string]Options{"no job": {Cluster: c}, "no launcher": {Workload: w}, "no such": {
		Workload: w, Cluster: c, Config: scheduler.Config{File: "settings.yaml", Line: 1, Text: []byte("nonsense: 1\n")},
	}} {
		o.Host = policy.InProcess(fifo.New())
		if _, err := Play(t.Context(), o); err == nil || want != "no such" && !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v and should say %q", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Play(ctx, Options{Workload: w, Cluster: c, Host: policy.InProcess(fifo.New())}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// Work that takes longer than nothing may happen is no standstill, nor is a day without jobs.
func TestLongWorkIsNoStandstill(t *testing.T) {
	w := &workload.Workload{Jobs: []workload.Job{job("long", 0, tasks(72*time.Hour), nil), job("late", 240*time.Hour, tasks(time.Second), nil)}}
	r := play(t, Options{Workload: w, Cluster: bare(1, map[string]int{"map": 1}), Stall: time.Hour}, fifo.New())
	if a, b := r.Jobs[0], r.Jobs[1]; a.Sojourn() < 72*time.Hour || b.Submitted < 240*time.Hour || b.Sojourn() > time.Minute {
		t.Errorf("they came to %+v and %+v", a, b)
	}
}

// Of two attempts at a task one is not needed any more; that is no preemption.
func TestASecondAttempt(t *testing.T) {
	c := bare(4, map[string]int{"map": 1})
	c.Model.Speculation = true
	c.Model.Stragglers = cluster.Stragglers{Share: 0.2, Factor: 50}
	list := make([]time.Duration, 40)
	for i := range list {
		list[i] = 20 * time.Second
	}
	w := &workload.Workload{Jobs: []workload.Job{job("a", 0, tasks(list...), nil)}}
	r := play(t, Options{Workload: w, Cluster: c}, fifo.New())
	if s := r.Jobs[0].Stages[0]; s.Killed == 0 || s.Preempted != 0 || s.Attempts-s.Killed != 40 || s.Wasted == 0 {
		t.Errorf("it came to %+v", s)
	}
}

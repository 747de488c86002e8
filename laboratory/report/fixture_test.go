package report

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/plugins/fair"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/plugins/hfsp"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// hostile is a name that is everything but markup.
const hostile = `<script>alert("1")</script>&amp;'],"` + "\u202e\u0085" + `,;` + "`=1+1"

// random draws a workload and a cluster. Names are hostile.
func random(seed uint64) (*workload.Workload, *cluster.Cluster) {
	r := rand.New(rand.NewPCG(seed, 17))
	c := cluster.Default(2+r.IntN(4), map[string]int{"map": 1 + r.IntN(3), "reduce": 1 + r.IntN(2)})
	c.Seed = seed
	w := &workload.Workload{Name: "random " + hostile}
	at := time.Duration(0)
	for i := range 3 + r.IntN(12) {
		at += time.Duration(r.IntN(20_000)) * time.Millisecond
		j := workload.Job{ID: fmt.Sprintf("job %d%s", i, hostile), Name: hostile, Submit: at, Pool: fmt.Sprint(hostile, i%3), User: "ü\t"[:2]}
		j.Class = []string{"small", "large", hostile}[i%3]
		stage := workload.Stage{Name: "map", Kind: workload.MapKind}
		for range 1 + r.IntN(12) {
			stage.Tasks = append(stage.Tasks, workload.Task{Work: time.Duration(r.ExpFloat64() * 8e9), Input: 1 << 20})
		}
		j.Stages = append(j.Stages, stage)
		if r.IntN(2) == 0 {
			stage := workload.Stage{Name: "reduce", Kind: workload.ReduceKind, After: []int{0}}
			for range 1 + r.IntN(3) {
				stage.Tasks = append(stage.Tasks, workload.Task{Work: time.Duration(r.ExpFloat64() * 8e9)})
			}
			j.Stages = append(j.Stages, stage)
		}
		w.Jobs = append(w.Jobs, j)
	}
	return w, c
}

// policies are the policies that are run, in this order.
var policies = []struct {
	name     string
	make     func() scheduler.TaskScheduler
	settings string
}{{"fifo", fifo.New, ""}, {"fair " + hostile, fair.New, "placement: {undeclared: create}\n"}, {"hfsp", hfsp.New, ""}}

// tee watches for two.
type tee struct{ a, b simulation.Watcher }

func (w tee) Came(at time.Duration, job int) { w.a.Came(at, job); w.b.Came(at, job) }
func (w tee) Holds(at time.Duration, job int, a *simcluster.Attempt, holds bool) {
	w.a.Holds(at, job, a, holds)
	w.b.Holds(at, job, a, holds)
}
func (w tee) Ended(at time.Duration, job int) { w.a.Ended(at, job); w.b.Ended(at, job) }

// play plays one of the policies; also may be nil.
func play(t *testing.T, w *workload.Workload, c *cluster.Cluster, p int, also simulation.Watcher) (*simulation.Result, *Recorder) {
	t.Helper()
	recorder := NewRecorder(w, c)
	watch := simulation.Watcher(recorder)
	if also != nil {
		watch = tee{recorder, also}
	}
	result, err := simulation.Play(t.Context(), simulation.Options{Workload: w, Cluster: c, Host: policy.InProcess(policies[p].make()), Config: scheduler.Config{Text: []byte(policies[p].settings)}, Watch: watch})
	if err != nil {
		t.Fatal(err)
	}
	return result, recorder
}

// runs plays all policies with some seeds.
func runs(t *testing.T, seeds ...uint64) (list []*Run) {
	t.Helper()
	for p := range policies {
		for _, seed := range seeds {
			w, c := random(seed)
			result, recorder := play(t, w, c, p, nil)
			list = append(list, NewRun(policies[p].name, seed, w, c, result, recorder))
		}
	}
	return list
}

// made is a run of jobs whose times are given: job i came at 0, ended after sojourns[i]
// seconds, and could have ended after one.
func made(policy string, seed uint64, sojourns ...float64) *Run {
	w, result := &workload.Workload{Name: "made"}, &simulation.Result{Slots: map[string]int{"map": 1}}
	for i, s := range sojourns {
		w.Jobs = append(w.Jobs, workload.Job{ID: fmt.Sprint("j", i), Stages: []workload.Stage{{Name: "map", Kind: "map", Tasks: []workload.Task{{Work: time.Second}}}}})
		end := time.Duration(s * 1e9)
		result.Jobs = append(result.Jobs, simulation.Job{Ended: end, Least: time.Second, State: wire.JobState_JOB_STATE_SUCCEEDED, Stages: []simulation.Stage{{Kind: "map", Ended: end, Attempts: 1, Busy: time.Second}}})
		result.Ended = max(result.Ended, end)
	}
	return NewRun(policy, seed, w, cluster.Default(1, map[string]int{"map": 1}), result, nil)
}

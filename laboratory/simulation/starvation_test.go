package simulation

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/plugins/fair"
	"github.com/hamadryad/hamadryad/plugins/preemptivefair"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// preemptedWorkMax is the share of all work that preemption may throw away.
	preemptedWorkMax = 0.10
	// starvationPools is the number of pools of a random workload.
	starvationPools = 20
)

// starvationPolicies preempt as they do by default; fair, which by default takes
// nothing back, soon. often is how many times one task may be preempted: under fair, without
// minimum shares, as times-max says by default; under preemptive-fair a newcomer gets its first
// share however often tasks lost before, and 0 is no bound.
var starvationPolicies = []struct {
	name     string
	make     func() scheduler.TaskScheduler
	settings string
	often    int
}{
	{"fair", fair.New, "allocations: {fair-share-timeout: 10s}\nplacement: {undeclared: create}\n", 3},
	{"preemptive-fair", preemptivefair.New, "", 0},
}

// workloads is how many random workloads are played under each policy.
var workloads = flag.Uint64("workloads", 5, "how many random workloads TestStarvation plays")

// No job starves: each ends, no task is preempted more often than the policy says, and little work is lost.
func TestStarvation(t *testing.T) {
	for _, p := range starvationPolicies {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			sum, worst, err := playAll(t.Context(), p.make, p.settings, *workloads)
			if err != nil {
				t.Fatal(err)
			}
			if p.often > 0 && sum.often > p.often {
				t.Errorf("a task was preempted %d times, want %d at most", sum.often, p.often)
			}
			if sum.share() >= preemptedWorkMax {
				t.Errorf("%.2f %% of all work was preempted, and %.2f %% in the worst workload: want less than %g %%", 100*sum.share(), 100*worst, 100*preemptedWorkMax)
			}
			t.Logf("%d jobs, %d attempts, %d of them preempted, one task %d times at most; %v of work, %v of it lost",
				sum.jobs, sum.attempts, sum.preempted, sum.often, sum.work.Round(time.Minute), sum.lost.Round(time.Minute))
		})
	}
}

// losses are the costs of preemption.
type losses struct {
	jobs, attempts, preempted int
	often                     int           // how many times one task was preempted, at most
	work, lost                time.Duration // slot-time of all attempts, and of those that were preempted
}

func (s losses) share() float64 { return s.lost.Seconds() / max(s.work.Seconds(), 1) }

// playAll plays the workloads of the first seeds and sums what is lost. worst is
// the largest share of work that one of them lost.
func playAll(ctx context.Context, newPolicy func() scheduler.TaskScheduler, settings string, seeds uint64) (sum losses, worst float64, err error) {
	for seed := uint64(1); seed <= seeds; seed++ {
		one, err := playOne(ctx, policy.InProcess(newPolicy()), settings, randomWorkload(seed))
		if err != nil {
			return sum, worst, fmt.Errorf("workload %d: %w", seed, err)
		}
		worst = max(worst, one.share())
		sum = losses{
			sum.jobs + one.jobs, sum.attempts + one.attempts, sum.preempted + one.preempted, max(sum.often, one.often), sum.work + one.work, sum.lost + one.lost,
		}
	}
	return sum, worst, nil
}

// playOne plays one. A job that does not succeed is an error, and so is one that never ends.
func playOne(ctx context.Context, host policy.Host, settings string, w *workload.Workload) (losses, error) {
	on := cluster.Default(10, map[string]int{scheduler.DefaultKind: 4})
	on.Model.Start, on.Model.Stop = 0, 50*time.Millisecond
	victims := victims{}
	r, err := Play(ctx, Options{
		Workload: w, Cluster: on, Host: host, Config: scheduler.Config{File: "settings", Line: 1, Text: []byte(settings)}, Watch: victims,
	})
	if err != nil {
		return losses{}, err
	}
	s := losses{jobs: len(r.Jobs)}
	for i := range r.Jobs {
		if j := &r.Jobs[i]; j.State != wire.JobState_JOB_STATE_SUCCEEDED {
			return s, fmt.Errorf("job %s did not succeed: %s", w.Jobs[i].ID, j.Failure)
		}
		for _, st := range r.Jobs[i].Stages {
			s.attempts, s.preempted, s.work, s.lost = s.attempts+st.Attempts, s.preempted+st.Preempted, s.work+st.Busy, s.lost+st.Wasted
		}
	}
	for _, n := range victims {
		s.often = max(s.often, n)
	}
	return s, nil
}

// victims counts how often tasks were preempted: nothing else stops an attempt where nothing fails.
type victims map[task]int

// task identifies a task by its positions in the workload.
type task struct {
	job          int
	stage, index uint32
}

// Came implements Watcher.
func (victims) Came(time.Duration, int) {}

// Holds implements Watcher.
func (v victims) Holds(_ time.Duration, job int, a *simcluster.Attempt, holds bool) {
	if e := a.Ended(); !holds && e.GetEnd() == wire.End_END_STOPPED {
		v[task{job, a.Start.Nodes[0].Stage, a.Start.Nodes[0].Index}]++
	}
}

// Ended implements Watcher.
func (victims) Ended(time.Duration, int) {}

// randomWorkload draws in each of the pools one to four jobs within ten minutes, most of them small and
// some large, as in traces of production clusters. 40 slots are too few for them most of the time.
func randomWorkload(seed uint64) *workload.Workload {
	r := rand.New(rand.NewPCG(seed, 20))
	w := &workload.Workload{}
	for p := range starvationPools {
		pool := fmt.Sprintf("pool%02d", p)
		for n := range 1 + r.IntN(4) {
			at := time.Duration(r.Int64N(int64(10 * time.Minute)))
			maps, length := 1+r.IntN(10), time.Duration(2+r.IntN(20))*time.Second
			if r.IntN(4) == 0 { // large and long
				maps, length = 20+r.IntN(60), time.Duration(20+r.IntN(60))*time.Second
			}
			j := workload.Job{ID: fmt.Sprint(pool, "-", n+1), Pool: pool, Submit: at}
			j.Stages = append(j.Stages, workload.Stage{Name: "map", Kind: scheduler.DefaultKind, Tasks: randomTasks(r, maps, length)})
			if reduces := randomTasks(r, r.IntN(1+maps/4), length); len(reduces) > 0 {
				j.Stages = append(j.Stages, workload.Stage{Name: "reduce", Kind: scheduler.DefaultKind, After: []int{0}, Tasks: reduces})
			}
			w.Jobs = append(w.Jobs, j)
		}
	}
	slices.SortStableFunc(w.Jobs, func(a, b workload.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	return w
}

func randomTasks(r *rand.Rand, n int, mean time.Duration) []workload.Task {
	list := make([]workload.Task, n)
	for i := range list {
		list[i].Work = mean/2 + time.Duration(r.Int64N(int64(mean)))
	}
	return list
}

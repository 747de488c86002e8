package replay

import (
	"testing"
	"time"

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

// replayed plays a day again, and returns by what part of its recorded time each job is off.
func replayed(t *testing.T, d *Day, p scheduler.TaskScheduler) (off []float64, result *simulation.Result) {
	t.Helper()
	result, err := simulation.Play(t.Context(), simulation.Options{
		Workload: d.Workload, Submissions: d.Submissions, Cluster: d.Cluster, Settings: d.Settings, Host: policy.InProcess(p), Tick: -1, ThinkAt: d.ThinkAt,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range result.Jobs {
		if j := &result.Jobs[i]; d.Sojourns[i] > 0 && j.State == wire.JobState_JOB_STATE_SUCCEEDED {
			off = append(off, (j.Sojourn()-d.Sojourns[i]).Abs().Seconds()/d.Sojourns[i].Seconds())
		}
	}
	return off, result
}

func extract(t *testing.T, r *Recording, seed uint64) *Day {
	t.Helper()
	d, err := Extract(t.Context(), r, seed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// onTwo writes the log of a workload on two launchers, on which nothing fails.
func onTwo(t *testing.T, p scheduler.TaskScheduler, w *workload.Workload, change func(*cluster.Cluster)) *Recording {
	t.Helper()
	on := cluster.Default(2, map[string]int{"map": 2, "reduce": 1})
	on.Replicas = 1
	if change != nil {
		change(on)
	}
	out := newWriter(t)
	if _, err := simulation.Play(t.Context(), simulation.Options{
		Workload: w, Cluster: on, Host: policy.InProcess(p), Name: "test", Record: out.batch, Tick: time.Millisecond,
	}); err != nil {
		t.Fatal(err)
	}
	out.end()
	r, err := Open(out.folder)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mixed() *workload.Workload {
	w := &workload.Workload{}
	for i := range 12 {
		n := time.Duration(i)
		j := workload.Job{ID: string(rune('a' + i)), User: "u" + string(rune('a'+i%2)), Submit: n * 7 * time.Second, Stages: []workload.Stage{{Name: "map", Kind: workload.MapKind}}}
		for k := range 1 + i%4 {
			j.Stages[0].Tasks = append(j.Stages[0].Tasks, workload.Task{Work: (9 + n + time.Duration(k)) * time.Second, Input: 1 << 20})
		}
		if i%3 == 0 {
			j.Stages = append(j.Stages, workload.Stage{Name: "reduce", Kind: workload.ReduceKind, After: []int{0}, SlowStart: 0.3, Tasks: []workload.Task{{Work: 8 * time.Second}}})
		}
		w.Jobs = append(w.Jobs, j)
	}
	return w
}

// A recorded day under its own policy takes each job as long as it took: with starts, early
// readers that wait for their input, and work that is far from it.
func TestADayUnderItsOwnPolicy(t *testing.T) {
	for name, p := range map[string]func() scheduler.TaskScheduler{"fifo": fifo.New, "fair": fair.New, "hfsp": hfsp.New} {
		r := onTwo(t, p(), mixed(), func(c *cluster.Cluster) { c.Model.Heartbeat = 300 * time.Millisecond })
		d := extract(t, r, 1)
		off, _ := replayed(t, d, p())
		if len(off) != 12 || d.Imputed != 0 || d.Tasks != mixed().Tasks() {
			t.Errorf("%s: %d jobs are compared, %d of %d tasks imputed", name, len(off), d.Imputed, d.Tasks)
		}
		for i, o := range off {
			if o > 0.02 {
				t.Errorf("%s: job %d is off by %.3f", name, i, o)
			}
		}
	}
}

// A job that waited for others comes, for a policy, when its wait is over. One whose dependency
// failed does not come at all.
func TestADayWithDependencies(t *testing.T) {
	d := extract(t, onTwo(t, fifo.New(), mixed(), nil), 1)
	d.Submissions[0].Spec.Limits = &wire.JobLimits{TimeLimitNs: int64(15 * time.Second)} // job-3 comes a second before
	d.Submissions[2].Spec.After = []*wire.JobDependency{{Job: 1}}
	d.Submissions[3].Spec.After = []*wire.JobDependency{{Job: 1, Any: true}, {Job: 2}}
	d.Submissions[6].Spec.After = []*wire.JobDependency{{Job: 6}}
	out := newWriter(t)
	result, err := simulation.Play(t.Context(), simulation.Options{
		Workload: d.Workload, Submissions: d.Submissions, Cluster: d.Cluster, Settings: d.Settings, Host: policy.InProcess(fifo.New()), Name: "test", Record: out.batch, Tick: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	out.end()
	r, err := Open(out.folder)
	if err != nil {
		t.Fatal(err)
	}
	again := extract(t, r, 1)
	if len(again.Workload.Jobs) != 11 {
		t.Fatalf("%d jobs come, want all of 12 but one", len(again.Workload.Jobs))
	}
	for i, s := range again.Submissions {
		j := again.Workload.Jobs[i]
		if len(s.Spec.After) > 0 {
			t.Errorf("%s is to wait again", j.ID)
		}
		if j.ID == "job-3" {
			t.Error("job-3 comes, and its dependency failed")
		}
		if at := result.Jobs[5].Sojourn() + d.Workload.Jobs[5].Submit; j.ID == "job-7" && (j.Submit-at).Abs() > time.Second {
			t.Errorf("job-7 comes at %v, and its dependency ended at %v", j.Submit, at)
		}
	}
}

// Attempts that a launcher no longer reports are drawn from the stage, by the seed alone. A
// launcher that failed and returned does so again, and one that joined late joins late.
func TestWhatWasNotSeen(t *testing.T) {
	w := &workload.Workload{Jobs: []workload.Job{{ID: "a", Stages: []workload.Stage{{Name: "map", Kind: workload.MapKind}}}}}
	for i := range 40 {
		w.Jobs[0].Stages[0].Tasks = append(w.Jobs[0].Stages[0].Tasks, workload.Task{Work: time.Duration(10+i) * time.Second})
	}
	r := onTwo(t, fifo.New(), w, func(c *cluster.Cluster) {
		c.Failures = []cluster.Failure{{Launcher: "node1", At: 100 * time.Second, Back: 60 * time.Second}}
	})
	whole := extract(t, r, 1)
	if f := whole.Cluster.Failures; len(f) != 1 || f[0].Launcher != "node1" || f[0].At.Round(time.Second) != 100*time.Second || f[0].Back.Round(time.Second) != 60*time.Second {
		t.Errorf("the failure is recorded as %+v", f)
	}
	if off, _ := replayed(t, whole, fifo.New()); len(off) != 1 || off[0] > 0.02 {
		t.Errorf("with its failure the job is off by %v", off)
	}
	half := newWriter(t)
	p := player{r: r, l: &until{w: half, most: 130}, extent: &Extent{}}
	if err := p.file(t.Context(), r.files[0]); err != nil {
		t.Fatal(err)
	}
	half.end()
	cut, err := Open(half.folder)
	if err != nil {
		t.Fatal(err)
	}
	one, again, other := extract(t, cut, 1), extract(t, cut, 1), extract(t, cut, 2)
	if one.Imputed == 0 || one.Imputed >= 40 || one.Sojourns[0] != 0 || len(one.Remarks) == 0 {
		t.Errorf("of a job that has not ended %d tasks are imputed; it is said: %q", one.Imputed, one.Remarks)
	}
	same, differ := true, false
	for i, task := range one.Workload.Jobs[0].Stages[0].Tasks {
		same = same && task.Work == again.Workload.Jobs[0].Stages[0].Tasks[i].Work
		differ = differ || task.Work != other.Workload.Jobs[0].Stages[0].Tasks[i].Work
		if task.Work < 9*time.Second || task.Work > 50*time.Second {
			t.Errorf("task %d is said to take %v, which is none of its stage", i, task.Work)
		}
	}
	if !same || !differ {
		t.Errorf("the same seed draws the same: %t, another seed other times: %t", same, differ)
	}
}

// until writes the first records of a log.
type until struct {
	recorder
	w    *writer
	most int
}

func (u *until) before(b *wire.Batch) error {
	if u.n++; u.n > u.most {
		return nil
	}
	return u.w.batch(u.core, b)
}

// What work takes away from its input is measured, and taken out of its time.
func TestDistanceIsMeasured(t *testing.T) {
	w := &workload.Workload{Jobs: []workload.Job{{ID: "a", Stages: []workload.Stage{{Name: "map", Kind: workload.MapKind}}}}}
	for range 40 {
		w.Jobs[0].Stages[0].Tasks = append(w.Jobs[0].Stages[0].Tasks, workload.Task{Work: 10 * time.Second, Input: 1 << 20, Places: []workload.Place{{Host: "node1"}}})
	}
	d := extract(t, onTwo(t, fifo.New(), w, func(c *cluster.Cluster) { c.Model.Locality = cluster.Locality{Rack: 1, Remote: 2} }), 1)
	if f := d.Cluster.Model.Locality.Remote; f < 1.9 || f > 2.1 {
		t.Errorf("remote work takes %v times as long, and took twice as long", f)
	}
	for i, task := range d.Workload.Jobs[0].Stages[0].Tasks {
		if task.Work.Round(time.Second) != 10*time.Second {
			t.Errorf("task %d works %v next to its input", i, task.Work)
		}
	}
}

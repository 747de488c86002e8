package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// alone is a job of one stage with one slot kind.
func alone(s workload.Stage) *workload.Workload {
	s.Name, s.Kind = "work", "default"
	return &workload.Workload{Jobs: []workload.Job{{ID: "a", Stages: []workload.Stage{s}}}}
}

func near(got, want time.Duration) bool { return (got - want).Abs() < 200*time.Millisecond } // the core pauses between rounds

// Tasks of three slots, on a launcher of four: one runs at a time.
func TestTaskTakesItsSlots(t *testing.T) {
	w := alone(workload.Stage{Slots: 3, Tasks: tasks(10*time.Second, 10*time.Second)})
	r := play(t, Options{Workload: w, Cluster: bare(1, map[string]int{"default": 4}), Tick: -1, Think: -1}, fifo.New())
	if j := r.Jobs[0]; !near(j.Ended, 20*time.Second) || !near(j.Stages[0].Busy, 60*time.Second) {
		t.Errorf("two tasks end after %v and take %v of slots: 20 s and 60 s are right", j.Ended, j.Stages[0].Busy)
	}
}

// Each task takes the only gpu of the launcher: one runs at a time, on four slots.
func TestTaskTakesItsResources(t *testing.T) {
	w := alone(workload.Stage{Resources: []scheduler.ResourceCount{{Kind: "gpu", Count: 1}}, Tasks: tasks(10*time.Second, 10*time.Second)})
	c := bare(1, map[string]int{"default": 4})
	c.Groups[0].Resources = map[string]int{"gpu": 1, "license": 7}
	if r := play(t, Options{Workload: w, Cluster: c, Tick: -1, Think: -1}, fifo.New()); !near(r.Jobs[0].Ended, 20*time.Second) {
		t.Errorf("two tasks end after %v, not after 20 s", r.Jobs[0].Ended)
	}
}

// A gang of three starts when three slots are free: at 10 s, though one is free from the beginning
// and two from 5 s on.
func TestGangStartsTogether(t *testing.T) {
	before := workload.Job{ID: "before", Stages: []workload.Stage{{Name: "work", Kind: "default", Tasks: tasks(5*time.Second, 10*time.Second)}}}
	gang := workload.Job{ID: "gang", Submit: time.Second, Stages: []workload.Stage{
		{Name: "lead", Kind: "default", Tasks: tasks(4 * time.Second)},
		{Name: "rest", Kind: "default", After: []int{0}, Channel: workload.ChannelTCP, Pattern: workload.Fork, Tasks: tasks(2*time.Second, 7*time.Second)},
	}}
	w := &workload.Workload{Jobs: []workload.Job{before, gang}}
	r := play(t, Options{Workload: w, Cluster: bare(3, map[string]int{"default": 1}), Tick: -1, Think: -1}, fifo.New())
	g := r.Jobs[1]
	if !near(g.Stages[0].Began, 10*time.Second) || !near(g.Stages[1].Began, 10*time.Second) || !near(g.Ended, 17*time.Second) {
		t.Errorf("the gang's stages begin at %v and %v, and it ends at %v: 10 s, 10 s and 17 s are right", g.Stages[0].Began, g.Stages[1].Began, g.Ended)
	}
}

// Tasks in one process take one slot, and as long as the longest of them.
func TestGroupRunsInOneProcess(t *testing.T) {
	w := &workload.Workload{Jobs: []workload.Job{{ID: "a", Stages: []workload.Stage{
		{Name: "read", Kind: "default", Tasks: tasks(3*time.Second, 4*time.Second)},
		{Name: "sort", Kind: "default", After: []int{0}, Channel: workload.ChannelSHM, Pattern: workload.OneToOne, Tasks: tasks(9*time.Second, 2*time.Second)},
	}}}}
	r := play(t, Options{Workload: w, Cluster: bare(1, map[string]int{"default": 1}), Tick: -1, Think: -1}, fifo.New())
	if j := r.Jobs[0]; !near(j.Ended, 13*time.Second) || j.Stages[0].Attempts != 2 || j.Stages[1].Attempts != 0 {
		t.Errorf("two groups of 9 s and 4 s end after %v, in %d and %d attempts", j.Ended, j.Stages[0].Attempts, j.Stages[1].Attempts)
	}
}

// Attempts fail by their rate, in the middle of their work, and their tasks are done again.
func TestAttemptsFailByARate(t *testing.T) {
	var list []workload.Task
	for range 1000 {
		list = append(list, workload.Task{Work: 10 * time.Second})
	}
	o := Options{Workload: alone(workload.Stage{FailureRate: 0.2, Tasks: list}), Cluster: bare(10, map[string]int{"default": 10}), Tick: -1, Think: -1}
	o.Cluster.Seed = 2
	o.Settings = func(s *core.Settings) { s.AttemptsMax, s.ExcludeAfter = 100, 1000 }
	r := play(t, o, fifo.New())
	s := r.Jobs[0].Stages[0]
	if s.Attempts != 1000+s.Lost || s.Lost < 200 || s.Lost > 300 { // 250 are expected, with a deviation of 18
		t.Errorf("of %d attempts %d failed", s.Attempts, s.Lost)
	}
	if mean := s.Wasted / time.Duration(s.Lost); mean < 4*time.Second || mean > 6*time.Second {
		t.Errorf("an attempt fails after %v in the mean, not after about 5 s", mean)
	}
	if again := play(t, o, fifo.New()); fmt.Sprint(again.Jobs) != fmt.Sprint(r.Jobs) {
		t.Error("the same run comes out otherwise")
	}

	o.Workload, o.Settings = alone(workload.Stage{FailureRate: 1, Tasks: tasks(time.Second)}), nil
	if j := play(t, o, fifo.New()).Jobs[0]; j.State != wire.JobState_JOB_STATE_FAILED || j.Failure == "" {
		t.Errorf("a job that never works ends as %v: %s", j.State, j.Failure)
	}
}

// noting is a policy that keeps properties, stages and deadline of the jobs it receives.
type noting struct {
	scheduler.TaskScheduler
	got      []scheduler.Property
	stages   []scheduler.Stage
	deadline scheduler.Time
}

// AssignTasks implements scheduler.TaskScheduler.
func (n *noting) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	for _, e := range r.Events {
		if s, ok := e.(scheduler.JobSubmitted); ok {
			n.got, n.stages, n.deadline = s.Job.Properties, s.Job.Stages, s.Job.Deadline
		}
	}
	return n.TaskScheduler.AssignTasks(r)
}

// A policy receives a job's properties, its deadline and its estimates.
func TestPolicyReceivesProperties(t *testing.T) {
	w := alone(workload.Stage{Estimate: 90 * time.Second, Tasks: tasks(time.Second)})
	w.Jobs[0].Deadline, w.Jobs[0].Properties = time.Hour, []scheduler.Property{{Name: "query", Value: "7"}}
	p := &noting{TaskScheduler: fifo.New()}
	play(t, Options{Workload: w, Cluster: bare(1, map[string]int{"default": 1}), Tick: -1, Think: -1}, p)
	if p.deadline != beginning.Add(time.Hour) {
		t.Errorf("its deadline is %v, not an hour after its submission", p.deadline)
	}
	if want := "[{query 7}]"; fmt.Sprint(p.got) != want {
		t.Errorf("it receives %v, want %s", p.got, want)
	}
	if s := p.stages[0]; s.Expected != 90*time.Second || s.ExpectedBy != scheduler.EstimateAuthor {
		t.Errorf("a task is expected to run %v by %v, want 90 s by its author", s.Expected, s.ExpectedBy)
	}
}

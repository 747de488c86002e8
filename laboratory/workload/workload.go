package workload

import (
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Workload is the jobs that come to a cluster. One that a reader or the generator made
// has passed Check.
type Workload struct {
	Name string // "": unknown
	// Jobs are in order of their submission; those of one instant in the order of their
	// source.
	Jobs []Job
	// Imputed is how many tasks' work the source does not say: it comes from a rule, or
	// from other tasks.
	Imputed int
}

// Job is one submission.
type Job struct {
	// ID is the job's name in its source, and no other job's of the workload.
	ID string
	// Name is what the job is, as people call it, and Class is what results are told
	// apart by ("small", "medium"). Both may be "".
	Name, Class string
	// User and Pool are "" where the source does not say.
	User, Pool string
	Priority   scheduler.Priority
	// Submit counts from the beginning of the workload.
	Submit time.Duration
	// Stages are in an order in which they can run; there is at least one.
	Stages []Stage
}

// Stage is all tasks of a job that do the same.
type Stage struct {
	Name string // "map", "reduce"; no other stage's of the job
	Kind scheduler.SlotKind
	// After are the stages that write what this one reads, by their place in Stages, in
	// ascending order; each is before this one. Each task reads from all tasks of each.
	After []int
	// SlowStart is the share of the tasks of After after whose end this stage's may start,
	// above 0 and at most 1, which is all of them; 0 is not said, and the model's holds.
	SlowStart float64
	// Memory is what each task needs, in bytes; 0 is not said.
	Memory int64
	// Tasks are at least one.
	Tasks []Task
}

// Task is the smallest piece of work.
type Task struct {
	// Work is how long the task runs, once it is started and has its input whole, on a
	// machine of usual speed that has the stored input on its own disk.
	Work time.Duration
	// Bytes: Input is stored input, Shuffle comes from the stages before, and Output is
	// what the task writes, for the stages after it or as the job's result. 0 is none, or
	// not said.
	Input, Shuffle, Output int64
	// Places are where the stored input is; empty where the source does not say.
	Places []Place
}

// Place is a machine that holds a copy of a task's input, by name. Rack is "" where the
// source does not say.
type Place struct{ Host, Rack string }

// Kinds of slots of MapReduce's stages.
const (
	MapKind    scheduler.SlotKind = "map"
	ReduceKind scheduler.SlotKind = "reduce"
)

// Tasks is the number of the job's tasks.
func (j *Job) Tasks() int {
	n := 0
	for i := range j.Stages {
		n += len(j.Stages[i].Tasks)
	}
	return n
}

// Stage finds a stage by name; nil: there is none.
func (j *Job) Stage(name string) *Stage {
	for i := range j.Stages {
		if j.Stages[i].Name == name {
			return &j.Stages[i]
		}
	}
	return nil
}

// Work is what all tasks of the stage take together, one after the other. A stage that
// passed Check does not overflow.
func (s *Stage) Work() time.Duration {
	sum := time.Duration(0)
	for i := range s.Tasks {
		sum += s.Tasks[i].Work
	}
	return sum
}

// Tasks is the number of all jobs' tasks.
func (w *Workload) Tasks() int {
	n := 0
	for i := range w.Jobs {
		n += w.Jobs[i].Tasks()
	}
	return n
}

// Span is the time from the first submission to the last.
func (w *Workload) Span() time.Duration {
	if len(w.Jobs) == 0 {
		return 0
	}
	return w.Jobs[len(w.Jobs)-1].Submit - w.Jobs[0].Submit
}

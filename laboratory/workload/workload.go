package workload

import (
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Workload is the jobs that come to a cluster. A workload of a reader or the generator has passed
// Check.
type Workload struct {
	Name string // "": unknown
	// Jobs are in order of submission; jobs of one instant in the order of their source.
	Jobs []Job
	// Imputed is the number of tasks whose work is not in the source: it comes from a rule, or from
	// other tasks.
	Imputed int
	// LeftOut is the number of jobs or tasks of the source that are not in the workload: they never
	// ran, or the source does not tell for how long.
	LeftOut int
	// Machine is the machine on which the source was recorded.
	Machine Machine
}

// Machine is the size of a machine; its zero value is unknown.
type Machine struct {
	// Nodes is 0 where only Processors are known.
	Nodes, Processors int
	// Seen says that the source does not name its size: Processors are the most that its jobs held
	// at once.
	Seen bool
}

// Job is one submission.
type Job struct {
	// ID is the job's name in its source, unique in the workload.
	ID string
	// Name is the job's name for people, and Class groups results ("small", "medium"). Both may be
	// "".
	Name, Class string
	// User and Pool are "" where the source has none.
	User, Pool string
	Priority   scheduler.Priority
	// Properties are free, in order of name, each name once. A policy receives them.
	Properties []scheduler.Property
	// Deadline is the time from submission by which the job should have ended; 0: it has none.
	Deadline time.Duration
	// Submit counts from the beginning of the workload.
	Submit time.Duration
	// Stages are in topological order; at least one.
	Stages []Stage
}

// Stage is a job's tasks that do the same.
type Stage struct {
	Name string // "map", "reduce"; no other stage's of the job
	Kind scheduler.SlotKind
	// After are the stages that this one reads from, by their indexes in Stages, ascending; each is
	// smaller than this stage's. Each task reads from all tasks of each.
	After []int
	// SlowStart is the share of the tasks of After that must have ended before this stage's may
	// start. It is above 0 and at most 1, all of them; 0 is unset, and the model's applies.
	SlowStart float64
	// Channel carries the data of the stages of After; "" is ChannelFile. Pattern is which tasks
	// read from which; "" is AllToAll.
	Channel Channel
	Pattern Pattern
	// Memory is each task's memory, in bytes; 0: unset.
	Memory int64
	// Slots are the slots that each task takes, at most SlotsMax; 0 is 1.
	Slots int
	// Resources are the countable resources that each task takes, such as gpu, in order of kind.
	Resources []scheduler.ResourceCount
	// Estimate is what the author expects a task to take; 0: the source has no estimate. A policy
	// receives it, and it may be wrong. The simulated cluster does not look at it.
	Estimate time.Duration
	// FailureRate is the share of attempts that fail somewhere in the middle of their work, from 0
	// to 1.
	FailureRate float64
	// Tasks are at least one.
	Tasks []Task
}

// Task is the smallest piece of work.
type Task struct {
	// Work is how long the task runs, once it is started and its input is complete, on a machine of
	// usual speed with the stored input on its own disk.
	Work time.Duration
	// Input is stored input, Shuffle comes from earlier stages, and Output is written for later
	// stages or as the job's result, all in bytes. 0 is none, or unknown.
	Input, Shuffle, Output int64
	// Places are the hosts of the stored input; empty where the source has none.
	Places []Place
}

// Place is a host with a copy of a task's input, by name. Rack is "" where the source has none.
type Place struct{ Host, Rack string }

// Channel is the kind of the channels between two stages.
type Channel string

// The channels. A file channel's readers start after its writers. Tasks joined by TCP are one
// bundle (a gang): they start together, or none does. Tasks joined by shared memory are one group:
// they run in one process.
const (
	ChannelFile Channel = "file"
	ChannelTCP  Channel = "tcp"
	ChannelSHM  Channel = "shm"
)

// Pattern is which of n writing tasks are read by which of m reading tasks.
type Pattern string

// The patterns, as in a job's graph.
const (
	AllToAll Pattern = "all-to-all" // each writer by each reader
	OneToOne Pattern = "one-to-one" // i by i; n is m
	Merge    Pattern = "merge"      // i by i*m/n, rounded down; n is at least m
	Fork     Pattern = "fork"       // j*n/m, rounded down, by j; n is at most m
)

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

// Work is the sum of all tasks' work. It does not overflow for a stage that passed Check.
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

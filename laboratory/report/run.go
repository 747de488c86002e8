package report

import (
	"math"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Run is the result of one workload under one policy, with one seed.
type Run struct {
	Policy string
	Seed   uint64
	// Jobs are in the order of the workload's.
	Jobs     []Job
	Summary  Summary
	Workload string // its name; "": unknown
	recorder *Recorder
}

// Job is the result of a job. Times count from the beginning of the workload.
type Job struct {
	ID, Name, Class, User, Pool string
	Submitted, Ended            time.Duration
	// Recorded is the job's time in the replayed recording; 0: unknown.
	Recorded time.Duration
	// Started is the start of its first attempt; negative: none started.
	Started time.Duration
	// Slowdown is the sojourn time over the job's least time alone on the whole cluster
	// (leastTime); 0: that time is 0 or unknown, and so is the slowdown.
	Slowdown                                            float64
	State                                               string
	Failure                                             string
	Tasks, Attempts, Preempted, Killed, Suspended, Lost int
	// Busy is the slot time of all attempts; Wasted is the part of unfinished ones.
	Busy, Wasted time.Duration
	// Near counts finished attempts with stored input by its locality level.
	Near [scheduler.LocalityLevels]int
}

// Sojourn is the time from the job's submission to its end.
func (j *Job) Sojourn() time.Duration { return j.Ended - j.Submitted }

// Succeeded reports whether the job succeeded.
func (j *Job) Succeeded() bool { return j.State == stateName(wire.JobState_JOB_STATE_SUCCEEDED) }

// NewRun makes the report of one run. The result is that of the workload on the cluster. recorder
// watched it, and may be nil: then there are no drawings over time. NewRun changes none of them.
func NewRun(policy string, seed uint64, w *workload.Workload, c *cluster.Cluster, result *simulation.Result, recorder *Recorder) *Run {
	r := &Run{Policy: policy, Seed: seed, Workload: w.Name, recorder: recorder, Jobs: make([]Job, len(w.Jobs))}
	slots := c.Slots()
	for i := range w.Jobs {
		r.Jobs[i] = newJob(&w.Jobs[i], &result.Jobs[i], slots)
	}
	r.Summary = summarize(r.Jobs, result)
	return r
}

func newJob(w *workload.Job, r *simulation.Job, slots map[scheduler.SlotKind]int) Job {
	j := Job{
		ID: w.ID, Name: w.Name, Class: w.Class, User: w.User, Pool: w.Pool, Tasks: w.Tasks(),
		Submitted: r.Submitted, Ended: r.Ended, Started: -1, State: stateName(r.State), Failure: r.Failure,
	}
	if least := leastTime(w, slots); least > 0 && !math.IsInf(least, 1) {
		j.Slowdown = r.Sojourn().Seconds() / least
	}
	for i := range r.Stages {
		s := &r.Stages[i]
		if s.Attempts > 0 && (j.Started < 0 || s.Began < j.Started) {
			j.Started = s.Began
		}
		j.Attempts += s.Attempts
		j.Preempted += s.Preempted
		j.Killed += s.Killed
		j.Suspended += s.Suspended
		j.Lost += s.Lost
		j.Busy += s.Busy
		j.Wasted += s.Wasted
		for level, n := range s.Near {
			j.Near[level] += n
		}
	}
	return j
}

// leastTime is the least time, in seconds, of a job alone on all slots of a cluster of usual speed.
// A stage takes as long as its longest task, and at least its work over the slots of its kind.
// Consecutive stages add up, along the longest path. Slow-start does not help: a task works when
// its input is complete. It is infinite when there is no slot of some kind.
func leastTime(j *workload.Job, slots map[scheduler.SlotKind]int) float64 {
	ends, least := make([]float64, len(j.Stages)), 0.0
	for i := range j.Stages {
		s := &j.Stages[i]
		longest := time.Duration(0)
		for k := range s.Tasks {
			longest = max(longest, s.Tasks[k].Work)
		}
		if slots[s.Kind] == 0 {
			return math.Inf(1)
		}
		ends[i] = max(longest.Seconds(), s.Work().Seconds()/float64(slots[s.Kind]))
		before := 0.0
		for _, from := range s.After {
			before = max(before, ends[from])
		}
		ends[i] += before
		least = max(least, ends[i])
	}
	return least
}

// stateName is a state in the words of the command line.
func stateName(s wire.JobState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "JOB_STATE_"))
}

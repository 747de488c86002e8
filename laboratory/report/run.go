package report

import (
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
	// Status is what the policy told of itself; nil: it was not asked.
	Status   *StatusSeries
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
	// (simulation.Job.Least); 0: that time is 0 or unknown, and so is the slowdown.
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
	for i := range w.Jobs {
		r.Jobs[i] = newJob(&w.Jobs[i], &result.Jobs[i])
	}
	r.Summary = summarize(r.Jobs, result)
	r.Summary.Energy = newEnergies(c, result.Uses)
	return r
}

func newJob(w *workload.Job, r *simulation.Job) Job {
	j := Job{
		ID: w.ID, Name: w.Name, Class: w.Class, User: w.User, Pool: w.Pool, Tasks: w.Tasks(),
		Submitted: r.Submitted, Ended: r.Ended, Started: -1, State: stateName(r.State), Failure: r.Failure,
	}
	if r.Least > 0 {
		j.Slowdown = r.Sojourn().Seconds() / r.Least.Seconds()
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

// stateName is a state in the words of the command line.
func stateName(s wire.JobState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "JOB_STATE_"))
}

package state

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Started returns when a group of the job was first launched; 0: none was.
func (s *Submission) Started() scheduler.Time { return s.started }

// Start records a launch. It returns true for the first one.
func (s *Submission) Start(now scheduler.Time) (first bool) {
	if s.started != 0 {
		return false
	}
	s.started = now
	return true
}

// CodeStarted codes when jobs were started, which older checkpoints lack.
func (st *Cluster) CodeStarted(w *checkpoint.Codec) {
	for _, id := range st.Jobs.IDs() {
		checkpoint.Num(w, &st.Jobs.Get(id).Submission.started)
	}
}

// TimeLimit returns how long the job may run, from its start; 0: no limit.
func (j *Job) TimeLimit() time.Duration { return time.Duration(j.Spec.GetLimits().GetTimeLimitNs()) }

// Deadline returns when the job should be over; 0: none.
func (j *Job) Deadline() scheduler.Time { return scheduler.Time(j.Spec.GetLimits().GetDeadline()) }

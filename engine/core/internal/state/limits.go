package state

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// LimitTimers are when the timers of a job's limits fire; 0: none was set. Nothing cancels a timer.
// One that fires before its time here was replaced, since the limit changed.
type LimitTimers struct{ TimeLimit, Deadline scheduler.Time }

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

// Limit changes the job's limits. The caller must not change the message afterwards.
func (s *Submission) Limit(l *wire.JobLimits) { s.limits = l }

// CodeStarted codes when jobs were started, which older checkpoints lack.
func (st *Cluster) CodeStarted(w *checkpoint.Codec) {
	for _, id := range st.Jobs.IDs() {
		checkpoint.Num(w, &st.Jobs.Get(id).Submission.started)
	}
}

// CodeLimits codes changed limits and their timers, which older checkpoints lack.
func (st *Cluster) CodeLimits(w *checkpoint.Codec) {
	for _, id := range st.Jobs.IDs() {
		s := &st.Jobs.Get(id).Submission
		checkpoint.Message(w, &s.limits)
		checkpoint.Num(w, &s.Timers.TimeLimit)
		checkpoint.Num(w, &s.Timers.Deadline)
	}
}

// Limits returns when the job has to be over; nil: never. The caller must not change it.
func (j *Job) Limits() *wire.JobLimits {
	if j.Submission.limits != nil {
		return j.Submission.limits
	}
	return j.Spec.GetLimits()
}

// TimeLimit returns how long the job may run, from its start; 0: no limit.
func (j *Job) TimeLimit() time.Duration { return time.Duration(j.Limits().GetTimeLimitNs()) }

// Deadline returns when the job should be over; 0: none.
func (j *Job) Deadline() scheduler.Time { return scheduler.Time(j.Limits().GetDeadline()) }

package state

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// State returns the attempt's state, as one word.
func (a *Attempt) State() string {
	switch {
	case a.Stop() != nil:
		return "stopping"
	case a.HeldAhead():
		return "ahead"
	case a.Phase() == phase.Suspended:
		return "suspended"
	case a.Phase() == phase.Running && a.Reads.Misses() > 0:
		return "starved"
	case a.Phase() == phase.Running:
		return "running"
	}
	return "assigned"
}

// Summary returns the job's line in a list of jobs.
func (j *Job) Summary() *wire.JobSummary {
	s := &wire.JobSummary{
		Job: uint64(j.ID), Name: j.Spec.Name, User: j.Spec.GetPrincipal().GetName(), Pool: j.Submission.pool, Priority: int32(j.Submission.priority),
		Submitted: int64(j.Submission.submitted), Groups: uint32(len(j.Plan.Groups) - j.unused), GroupsFinished: uint32(j.Stats.Groups()),
		Elements: uint32(j.Elements.Len()),
	}
	if j.LastBundle() != nil {
		s.Groups++
	}
	switch j.Phase() {
	case JobWaiting:
		s.State = wire.JobState_JOB_STATE_WAITING
	case JobPendingAdmission:
		s.State = wire.JobState_JOB_STATE_ASKED
	case JobRunning:
		s.State = wire.JobState_JOB_STATE_RUNNING
	default:
		s.State = wire.JobState_JOB_STATE_FINISHING
		if j.Ends() && j.End.outcome == scheduler.JobKilled {
			s.State = wire.JobState_JOB_STATE_KILLING
		}
	}
	s.GroupsRunning = uint32(len(j.attempts) - j.suspended)
	return s
}

// State returns the launcher's state, as one word.
func (l *Launcher) State() string {
	switch {
	case !l.Up:
		return "lost"
	case l.Draining && len(l.attempts) == 0:
		return "drained"
	case l.Draining:
		return "draining"
	case l.Excluded:
		return "excluded"
	}
	return "up"
}

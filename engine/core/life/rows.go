package life

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/course"
	"github.com/hamadryad/hamadryad/engine/core/tally"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// AttemptRows are what the status of a job's attempts is made of.
type AttemptRows struct {
	stages []string
	ended  []tally.Past  // the oldest first
	live   []liveAttempt // in any order
}

type liveAttempt struct {
	tally.Past // without what is known at the end
	state      string
	since      scheduler.Time // that it is suspended
}

// EndedRows are the rows of those that ended.
func (j *Job) EndedRows() *AttemptRows {
	r := &AttemptRows{stages: make([]string, len(j.Stages)), ended: j.Tally.Kept()}
	for i := range j.Stages {
		r.stages[i] = j.Stages[i].Name()
	}
	return r
}

// Look adds the rows of attempts that lived when they were noted.
func (r *AttemptRows) Look(attempts []*Attempt) {
	for i, a := range attempts {
		if next := prefetch.Next(attempts, i); next != nil {
			prefetchRows(next)
		}
		x := liveAttempt{state: a.state()}
		x.Past = tally.Past{ID: a.ID, Stage: a.Stage, Index: a.Index, Launcher: a.Launcher.Name, Started: a.Started(), Suspended: a.Rested(), Speculative: a.Run.Speculative}
		switch a.Phase() {
		case course.Ended:
			x.Ended = a.Since()
		case course.Suspended:
			x.since = a.Since()
		}
		if a.Stop() != nil {
			x.Reason = a.Stop().Reason
		}
		r.live = append(r.live, x)
	}
}

// Status makes the messages: what ended, then what lives, in order of id.
func (r *AttemptRows) Status() []*wire.AttemptStatus {
	var list []*wire.AttemptStatus
	add := func(p *tally.Past, state string, since scheduler.Time) {
		list = append(list, &wire.AttemptStatus{
			Attempt: uint64(p.ID), Stage: r.stages[p.Stage], Index: uint32(p.Index), Launcher: p.Launcher, State: state,
			Started: int64(p.Started), Ended: int64(p.Ended), Speculative: p.Speculative, Reason: p.Reason,
			SuspendedSince: int64(since), SuspendedNs: int64(p.Suspended),
		})
	}
	for i := range r.ended {
		add(&r.ended[i], r.ended[i].Outcome.String(), 0)
	}
	slices.SortFunc(r.live, func(x, y liveAttempt) int { return cmp.Compare(x.ID, y.ID) })
	for i := range r.live {
		add(&r.live[i].Past, r.live[i].state, r.live[i].since)
	}
	return list
}

func (a *Attempt) state() string {
	switch {
	case a.Phase() == course.Ended:
		return a.Outcome().String()
	case a.Stop() != nil:
		return "stopping"
	case a.Phase() == course.Suspended:
		return "suspended"
	case a.Phase() == course.Running && a.Reads.Misses() > 0:
		return "running, waits for inputs"
	case a.Phase() == course.Running:
		return "running"
	}
	return "assigned"
}

// Summary is its line in a list of jobs.
func (j *Job) Summary() *wire.JobSummary {
	s := &wire.JobSummary{
		Job: uint64(j.ID), Name: j.Spec.Name, User: j.Spec.GetPrincipal().GetName(), Pool: j.Pool, Priority: int32(j.Priority),
		Submitted: int64(j.Submitted), Groups: uint32(len(j.Plan.Groups)), GroupsFinished: uint32(j.Tally.Groups()),
	}
	if j.LastBundle() != nil {
		s.Groups++
	}
	switch j.Phase() {
	case JobAsked:
		s.State = wire.JobState_JOB_STATE_ASKED
	case JobRunning:
		s.State = wire.JobState_JOB_STATE_RUNNING
	default:
		s.State = wire.JobState_JOB_STATE_FINISHING
	}
	s.GroupsRunning = uint32(len(j.Attempts) - j.resting)
	return s
}

// StatusWith is the status of a job that ended, without its attempts unless they are
// asked for.
func (e *EndedJob) StatusWith(attempts bool) *wire.JobStatus {
	if attempts {
		return e.Status
	}
	s := e.Status
	return &wire.JobStatus{
		Summary: s.Summary, Stages: s.Stages, Failure: s.Failure, Counters: s.Counters, Waiting: s.Waiting,
		Read: s.Read, LocalAttempts: s.LocalAttempts, Notes: s.Notes, Outputs: s.Outputs, Kept: s.Kept,
	}
}

// State is its state, in a word.
func (l *Launcher) State() string {
	switch {
	case !l.Up:
		return "lost"
	case l.Draining && len(l.Attempts) == 0:
		return "drained"
	case l.Draining:
		return "draining"
	case l.Blamed:
		return "blamed"
	}
	return "up"
}

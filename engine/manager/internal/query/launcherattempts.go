package query

import (
	"context"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Look finds a job that the caller of a request may look at. The error says that the caller may
// not, or that there is no such job.
type Look func(ctx context.Context, id scheduler.JobID) (*Job, error)

// AddAttempts adds to a launcher's status its live attempts, at most so many, and its last ended
// ones. Attempts of jobs that look refuses are left out.
func (j *Reader) AddAttempts(ctx context.Context, l *wire.LauncherStatus, most int, look Look) error {
	id := scheduler.LauncherID(l.Launcher)
	live, err := j.OnLauncher(ctx, id)
	if err != nil {
		return err
	}
	ended, err := j.Ends(ctx, id)
	if err != nil {
		return err
	}
	jobs := lookedAt{look: look, known: map[scheduler.JobID]*wire.JobStatus{}}
	for i := range live {
		if a := jobs.attempt(ctx, &live[i]); a != nil && len(l.Attempts) < most {
			l.Attempts = append(l.Attempts, a)
		}
	}
	l.AttemptsLeftOut = uint32(len(live) - len(l.Attempts))
	for _, e := range ended {
		row := changes.Attempt{ID: e.Attempt, Job: e.Job, Stage: e.Stage, Index: e.Index, State: changes.Ended, Outcome: e.Outcome, Started: e.At}
		if a := jobs.attempt(ctx, &row); a != nil {
			l.Ended = append(l.Ended, a)
		}
	}
	return nil
}

// lookedAt remembers look's answers about jobs.
type lookedAt struct {
	look  Look
	known map[scheduler.JobID]*wire.JobStatus // nil: look refused it
}

func (k *lookedAt) job(ctx context.Context, id scheduler.JobID) *wire.JobStatus {
	st, asked := k.known[id]
	if !asked {
		if j, err := k.look(ctx, id); err == nil {
			st = j.Status
			j.Close()
		}
		k.known[id] = st
	}
	return st
}

// attempt is an attempt for a launcher's status; nil: the caller may not look at its job.
func (k *lookedAt) attempt(ctx context.Context, f *changes.Attempt) *wire.LauncherAttempt {
	st := k.job(ctx, f.Job)
	if st == nil {
		return nil
	}
	a := &wire.LauncherAttempt{
		Job: uint64(f.Job), JobName: st.GetSummary().GetName(), Attempt: uint64(f.ID), Index: -1, State: StateName(f), Since: int64(f.Started),
	}
	if f.Stage >= 0 {
		a.Index = f.Index
		if int(f.Stage) < len(st.Stages) {
			a.Stage = st.Stages[f.Stage].GetName()
		}
	}
	return a
}

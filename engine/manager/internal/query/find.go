package query

import (
	"context"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Filter selects jobs: those that match all its set fields.
type Filter struct {
	States     []wire.JobState // any of these; none: all
	User, Pool *string         // nil: any
	Name       string          // is part of the job's
	Since      scheduler.Time  // submitted then or later; 0: at any time
}

// Fits reports whether a job matches.
func (f *Filter) Fits(j *wire.JobSummary) bool {
	return f.fits(j.State, j.User, j.Pool, j.Name, scheduler.Time(j.Submitted))
}

func (f *Filter) fits(state wire.JobState, user, pool, name string, submitted scheduler.Time) bool {
	return (len(f.States) == 0 || slices.Contains(f.States, state)) && (f.User == nil || *f.User == user) && (f.Pool == nil || *f.Pool == pool) && strings.Contains(name, f.Name) && submitted >= f.Since
}

// find lists the matching live jobs, in order of id. With all, the kept ended jobs come before
// them, the oldest end first. ids are those of all jobs, matching or not, in the same order.
// Checking 10,000 jobs takes less time than describing a few, so there is no index.
func (m *Model) find(ctx context.Context, all bool, f *Filter) (found []*wire.JobSummary, ids []scheduler.JobID, err error) {
	var ended []*endedJob
	var live []*changes.Job
	err = m.read(ctx, func() {
		if all {
			ended = slices.Clone(m.ended)
		}
		live = make([]*changes.Job, 0, m.live.Len())
		for _, id := range m.live.IDs() {
			live = append(live, m.live.Get(id).row)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	ids = make([]scheduler.JobID, 0, len(ended)+len(live))
	for _, e := range ended {
		ids = append(ids, scheduler.JobID(e.status.GetSummary().GetJob()))
		if f.Fits(e.status.GetSummary()) {
			found = append(found, e.status.Summary)
		}
	}
	for _, j := range live {
		ids = append(ids, j.ID)
		if f.fits(j.State, j.Spec.GetPrincipal().GetName(), j.Pool, j.Spec.GetName(), j.Submitted) {
			found = append(found, summary(j))
		}
	}
	return found, ids, nil
}

// jobsOn lists the jobs with a live attempt on a launcher, in order of id.
func (m *Model) jobsOn(ctx context.Context, launcher scheduler.LauncherID) (ids []scheduler.JobID, err error) {
	err = m.read(ctx, func() {
		if l := m.launchers.Get(launcher); l != nil {
			for _, a := range l.live {
				ids = append(ids, a.job.row.ID)
			}
		}
	})
	slices.Sort(ids)
	return slices.Compact(ids), err
}

package readmodel

import (
	"context"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/facts"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/sorted"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// keys are what a job is found by.
type keys struct {
	state      wire.JobState
	pool, user string
}

func keysOf(j *facts.Job) keys { return keys{j.State, j.Pool, j.Spec.GetPrincipal().GetName()} }

func keysOfEnded(s *wire.JobStatus) keys {
	return keys{s.GetSummary().GetState(), s.GetSummary().GetPool(), s.GetSummary().GetUser()}
}

// index lists jobs by what they are found by, each list in order of id.
type index struct {
	byState map[wire.JobState][]scheduler.JobID
	byPool  map[string][]scheduler.JobID
	byUser  map[string][]scheduler.JobID
}

func (x *index) add(id scheduler.JobID, k keys) {
	enter(&x.byState, k.state, id)
	enter(&x.byPool, k.pool, id)
	enter(&x.byUser, k.user, id)
}

func (x *index) remove(id scheduler.JobID, k keys) {
	strike(x.byState, k.state, id)
	strike(x.byPool, k.pool, id)
	strike(x.byUser, k.user, id)
}

// move moves a job; its user stays.
func (x *index) move(id scheduler.JobID, from, to keys) {
	if from.state != to.state {
		strike(x.byState, from.state, id)
		enter(&x.byState, to.state, id)
	}
	if from.pool != to.pool {
		strike(x.byPool, from.pool, id)
		enter(&x.byPool, to.pool, id)
	}
}

func enter[K comparable](lists *map[K][]scheduler.JobID, k K, id scheduler.JobID) {
	if *lists == nil {
		*lists = map[K][]scheduler.JobID{}
	}
	(*lists)[k] = sorted.Add((*lists)[k], id)
}

func strike[K comparable](lists map[K][]scheduler.JobID, k K, id scheduler.JobID) {
	list := lists[k]
	if i, found := slices.BinarySearch(list, id); found {
		list = slices.Delete(list, i, i+1)
	}
	if lists[k] = list; len(list) == 0 {
		delete(lists, k)
	}
}

// Filter says which jobs are looked for: those for which all holds that is set.
type Filter struct {
	State    wire.JobState // 0: in any
	Pool     *string
	User     *string
	Launcher scheduler.LauncherID // on which an attempt of it lives; 0: on any, or none
}

func (f *Filter) fits(k keys) bool {
	return (f.State == 0 || f.State == k.state) && (f.Pool == nil || *f.Pool == k.pool) && (f.User == nil || *f.User == k.user)
}

// Find lists the jobs that fit, live and ended, in order of id.
func (m *Model) Find(ctx context.Context, f Filter) (found []scheduler.JobID, err error) {
	err = m.read(ctx, func() {
		for _, id := range m.candidates(&f) {
			if f.fits(m.keys(id)) {
				found = append(found, id)
			}
		}
	})
	slices.Sort(found)
	return slices.Compact(found), err
}

// keys are those of a job that is known.
func (m *Model) keys(id scheduler.JobID) keys {
	if j := m.live.Get(id); j != nil {
		return keysOf(j.row)
	}
	return keysOfEnded(m.endedByID[id].status)
}

// candidates is the shortest list that has all jobs that fit.
func (m *Model) candidates(f *Filter) []scheduler.JobID {
	var lists [][]scheduler.JobID
	if f.Launcher != 0 {
		var there []scheduler.JobID
		if l := m.launchers.Get(f.Launcher); l != nil {
			for _, a := range l.live {
				there = append(there, a.job.row.ID)
			}
		}
		return there
	}
	if f.State != 0 {
		lists = append(lists, m.index.byState[f.State])
	}
	if f.Pool != nil {
		lists = append(lists, m.index.byPool[*f.Pool])
	}
	if f.User != nil {
		lists = append(lists, m.index.byUser[*f.User])
	}
	if len(lists) == 0 {
		all := slices.Clone(m.live.IDs())
		for _, e := range m.ended {
			all = append(all, scheduler.JobID(e.status.GetSummary().GetJob()))
		}
		return all
	}
	return slices.MinFunc(lists, func(x, y []scheduler.JobID) int { return len(x) - len(y) })
}

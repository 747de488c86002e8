package faultsim

import (
	"cmp"
	"fmt"
	"reflect"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// shown is the state of an observer that gets the changes alone: the last row of each thing. It
// must equal all the rows that the core has.
type shown struct {
	jobs      map[scheduler.JobID]changes.Job
	stages    map[stageKey]changes.Stage
	attempts  map[scheduler.AttemptID]changes.Attempt // that live
	ended     map[scheduler.AttemptID]changes.Attempt // of jobs that live
	launchers map[scheduler.LauncherID]changes.Launcher
	users     map[string]changes.User
	decides   uint64
}

type stageKey struct {
	job    scheduler.JobID
	number int32
}

// newShown begins with all rows of a core, which reports changes from now on.
func newShown(c *core.Core) *shown {
	c.EnableChanges()
	s := &shown{
		jobs: map[scheduler.JobID]changes.Job{}, stages: map[stageKey]changes.Stage{}, attempts: map[scheduler.AttemptID]changes.Attempt{},
		ended: map[scheduler.AttemptID]changes.Attempt{}, launchers: map[scheduler.LauncherID]changes.Launcher{}, users: map[string]changes.User{},
	}
	s.take(c.AllChanges())
	return s
}

// take applies a step's changes.
func (s *shown) take(f core.Changes) {
	s.decides = f.Decides
	for _, j := range f.Jobs {
		s.jobs[j.ID] = j
	}
	for _, x := range f.Stages {
		s.stages[stageKey{x.Job, x.Number}] = x
	}
	for _, a := range f.Attempts {
		delete(s.attempts, a.ID)
		if a.State == changes.Ended {
			s.ended[a.ID] = a
		} else {
			s.attempts[a.ID] = a
		}
	}
	for _, l := range f.Launchers {
		if s.launchers[l.ID] = l; l.Gone {
			delete(s.launchers, l.ID)
		}
	}
	for _, u := range f.Users {
		if s.users[u.Name] = u; u.Gone {
			delete(s.users, u.Name)
		}
	}
	for _, e := range f.Ended {
		s.forget(scheduler.JobID(e.GetSummary().GetJob()))
	}
}

// forget drops a job that is over, and all that was in it.
func (s *shown) forget(id scheduler.JobID) {
	delete(s.jobs, id)
	for k := range s.stages {
		if k.job == id {
			delete(s.stages, k)
		}
	}
	for k, a := range s.ended {
		if a.Job == id {
			delete(s.ended, k)
		}
	}
}

// shownEvery: at one in so many steps the reported rows are compared with all rows. That costs
// twice what the rest of a run does, and a missing row stays missing for a while.
const shownEvery = 8

// factsOf returns a step's changes, which are its first action, or follow the round.
func factsOf(actions []core.Action) (core.Changes, error) {
	for _, a := range actions[:min(len(actions), 2)] {
		if told, ok := a.(core.Changes); ok {
			return told, nil
		}
	}
	return core.Changes{}, fmt.Errorf("a step of %d actions tells no facts", len(actions))
}

// step takes in a step's changes. With look it compares them with all rows of the core.
func (s *shown) step(c *core.Core, told core.Changes, look bool) error {
	if s.take(told); !look {
		return nil
	}
	all := newShown(c)
	if s.decides != all.decides {
		return fmt.Errorf("generation %d decides, and %d was told", all.decides, s.decides)
	}
	for id, want := range all.ended { // older ones are not remembered there
		got := s.ended[id]
		if got.Outcome != want.Outcome || got.Reason != want.Reason || got.Since != want.Since || got.Suspended != want.Suspended || got.On != want.On {
			return fmt.Errorf("told of an end: %+v, it is %+v", got, want)
		}
	}
	return cmp.Or(differ("job", s.jobs, all.jobs), differ("stage", s.stages, all.stages), differ("attempt", s.attempts, all.attempts), differ("launcher", s.launchers, all.launchers), differ("user", s.users, all.users))
}

// differ names a row that was not reported, or differs from the reported one.
func differ[K comparable, V any](what string, told, all map[K]V) error {
	for k, want := range all {
		got, there := told[k]
		if !there {
			return fmt.Errorf("%s %v is there, and that was not told: %+v", what, k, want)
		}
		if reflect.DeepEqual(got, want) {
			continue
		}
		for i, x := 0, reflect.ValueOf(got); i < x.NumField(); i++ {
			if x, y := x.Field(i).Interface(), reflect.ValueOf(want).Field(i).Interface(); !reflect.DeepEqual(x, y) {
				return fmt.Errorf("%s %v: told that %s is %+v, and it is %+v", what, k, reflect.TypeFor[V]().Field(i).Name, x, y)
			}
		}
	}
	for k, got := range told {
		if _, there := all[k]; !there {
			return fmt.Errorf("%s %v is gone, and that was not told: %+v", what, k, got)
		}
	}
	return nil
}

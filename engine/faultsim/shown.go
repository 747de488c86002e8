package faultsim

import (
	"cmp"
	"fmt"
	"reflect"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// shown is what somebody knows who hears the facts alone: the last row of each thing. It has
// to be what the core would tell of all of them.
type shown struct {
	jobs      map[scheduler.JobID]changes.Job
	stages    map[stageKey]changes.Stage
	attempts  map[scheduler.AttemptID]changes.Attempt // that live
	ended     map[scheduler.AttemptID]changes.Attempt // of jobs that live
	launchers map[scheduler.LauncherID]changes.Launcher
	decides   uint64
}

type stageKey struct {
	job    scheduler.JobID
	number int32
}

// newShown begins with all that a core tells, which tells from now on.
func newShown(c *core.Core) *shown {
	c.EnableChanges()
	s := &shown{
		jobs: map[scheduler.JobID]changes.Job{}, stages: map[stageKey]changes.Stage{}, attempts: map[scheduler.AttemptID]changes.Attempt{},
		ended: map[scheduler.AttemptID]changes.Attempt{}, launchers: map[scheduler.LauncherID]changes.Launcher{},
	}
	s.take(c.AllChanges())
	return s
}

// take takes in what changed.
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

// shownEvery is at which steps, one in so many, what was told is held against all: that costs twice
// what the rest of a run does, and what was not told stays untold for a while.
const shownEvery = 8

// factsOf returns what a step tells, which is the first that it has done, or follows the round.
func factsOf(actions []core.Action) (core.Changes, error) {
	for _, a := range actions[:min(len(actions), 2)] {
		if told, ok := a.(core.Changes); ok {
			return told, nil
		}
	}
	return core.Changes{}, fmt.Errorf("a step of %d actions tells no facts", len(actions))
}

// step takes in what a step told, and holds it against what the core would tell of all when
// it is to look.
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
	return cmp.Or(differ("job", s.jobs, all.jobs), differ("stage", s.stages, all.stages), differ("attempt", s.attempts, all.attempts), differ("launcher", s.launchers, all.launchers))
}

// differ says which row was not told, or is not as it was told.
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

package shares

import (
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/plugins/fair/allocation"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// State holds the pools and jobs that share slots. The zero value is made ready by Start and
// Rebuild.
type State struct {
	View   *view.View
	Config *allocation.Config
	World  World
	Tree   *pooltree.Tree
	Pools  map[string]*Pool // by path; all but the root
	Jobs   map[scheduler.JobID]*Job
	// Undeclared are jobs that were moved to a pool that is not declared while such
	// pools were refused, with the pool where they stay. All others are where they came in.
	Undeclared map[scheduler.JobID]string
	// Synced are the jobs that Sync brought up to date; the reader empties it.
	Synced []*Job
	// Changed says that state outside of snapshots may have changed; saving it sets
	// Changed back.
	Changed bool
	// Trace is called for each job that comes, moves or goes; nil: none is.
	Trace func(event string, j *Job)

	adjuster WeightAdjuster // nil: weights are as they are
	limiter  limiter
	alarms   alarms // weights that change by themselves
	dirty    []*Job // what changed since the last Sync
}

// Start begins with a view; some kinds of slots are known from the start.
func (s *State) Start(v *view.View, kinds []scheduler.SlotKind) {
	s.View, s.Undeclared = v, map[scheduler.JobID]string{}
	s.World.Start(v, kinds)
}

// Rebuild rebuilds tree, pools and jobs from the view and the settings. Jobs keep the records of
// other packages. The caller must call Sync next.
func (s *State) Rebuild(c *allocation.Config) {
	for _, id := range slices.Sorted(maps.Keys(s.Jobs)) { // settings may come in the round in which jobs end, and before their ends
		if s.View.Job(id) == nil {
			s.Remove(id)
		}
	}
	old := s.Jobs
	s.Config, s.adjuster = c, adjuster(c)
	if c.Undeclared == allocation.UndeclaredCreate {
		clear(s.Undeclared) // and stay where they get now, should that change again
	}
	s.Tree, s.Pools, s.Jobs = pooltree.New(c.Table.Top()), map[string]*Pool{}, map[scheduler.JobID]*Job{}
	s.dirty, s.Synced, s.alarms, s.limiter, s.Changed = nil, nil, nil, limiter{}, true
	for _, spec := range c.Table.Sorted() {
		s.addPool(spec)
	}
	for _, v := range s.View.Jobs() {
		s.Add(v)
		j := s.Jobs[v.ID()]
		if was := old[v.ID()]; was != nil {
			j.Wait, j.Reported = was.Wait, was.Reported
		}
	}
}

func (s *State) trace(event string, j *Job) {
	if s.Trace != nil {
		s.Trace(event, j)
	}
}

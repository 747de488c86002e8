package work

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Stage is a stage of a live job.
type Stage struct {
	Job *view.Job
	// Held, Leaving and Suspended are slots of the stage's kind. Held are those of launches that
	// run or are assigned, Leaving of those that are preempted, Suspended of those that are
	// suspended. Ready is how many its launchable bundles need. Each slot counts once.
	Held, Leaving, Suspended, Ready int
	// ReadyBundles is how many bundles may be launched.
	ReadyBundles int
	// Came says that a bundle of the stage was ready or ran.
	Came bool
	// Bound says with which other stages it starts, as far as its bundles have shown.
	Bound Bound
	// Owner is data of the caller.
	Owner any

	id      scheduler.StageID
	kind    scheduler.SlotKind
	ready   view.BundleList
	last    *listed // what the bundle that was listed last has
	units   []*Unit // in order of launch; nil in a gap
	gaps    int
	paused  int // how many of units are suspended
	touched bool
}

// Bound says whether groups of a stage start together with those of another stage, as in a gang. It only grows.
type Bound struct {
	Leads bool // bundles belong to the stage
	// Joins says that its groups are in bundles of another stage, and Leader is the first such stage.
	Joins  bool
	Leader scheduler.StageID
}

// Follows says that all known groups of a stage start with those of another stage, to which they belong.
func (b Bound) Follows() bool { return b.Joins && !b.Leads }

// ID returns the stage's number in its job.
func (s *Stage) ID() scheduler.StageID { return s.id }

// Kind returns the kind of slot that it needs.
func (s *Stage) Kind() scheduler.SlotKind { return s.kind }

// Info returns the stage as the manager sent it.
func (s *Stage) Info() *scheduler.Stage { return &s.Job.Info.Stages[s.id] }

// Over says whether all of its groups have finished.
func (s *Stage) Over() bool {
	c := s.Job.Counts[s.id]
	return c.Waiting+c.Running == 0 && c.Finished > 0
}

// Compare orders stages by job, then by stage id.
func Compare(a, b *Stage) int {
	return cmp.Or(cmp.Compare(a.Job.ID(), b.Job.ID()), cmp.Compare(a.id, b.id))
}

// Unit is one launch of a bundle. It is preempted and resumed as a whole.
type Unit struct {
	Stage    *Stage
	Bundle   *view.Bundle
	Attempts []*view.Attempt // live, in order of group
	// Slots is how many slots of the stage's kind its live attempts need.
	Slots int
	// Turn is data of the caller.
	Turn uint64

	gang  bool
	state state
	at    int // in the stage's list
}

// state says in which of a stage's counts a unit's slots are included.
type state uint8

const (
	gone state = iota
	held
	leaving
	suspended
)

// Suspended reports whether all live attempts are suspended, and none is about to resume.
func (u *Unit) Suspended() bool { return u.state == suspended }

// Stays reports whether the unit is assigned or running, and not being preempted.
func (u *Unit) Stays() bool { return u.state == held }

// Runs reports whether all attempts run. A unit that is only assigned, or has stopped in part, can't be suspended.
func (u *Unit) Runs() bool {
	return u.state == held && !slices.ContainsFunc(u.Attempts, func(a *view.Attempt) bool { return a.State != view.Running })
}

// Ends reports whether the manager stops what is left of a launch. Such a launch can't be resumed or preempted.
func (u *Unit) Ends() bool {
	return slices.ContainsFunc(u.Attempts, func(a *view.Attempt) bool { return a.Stopping })
}

// look returns a unit's state, and how many slots of the stage's kind it has.
func (u *Unit) look() (state, int) {
	slots, paused, leaves := 0, 0, false
	for _, a := range u.Attempts {
		if a.Need.Kind == u.Stage.kind {
			slots += a.Need.Slots
		}
		if a.State == view.Suspended && !a.Resuming {
			paused++
		}
		leaves = leaves || a.Leaving != 0
	}
	switch {
	case len(u.Attempts) == 0:
		return gone, 0
	case leaves:
		return leaving, slots
	case paused == len(u.Attempts):
		return suspended, slots
	}
	return held, slots
}

// count adds a unit's slots to the stage's counts, or subtracts them.
func (s *Stage) count(u *Unit, sign int) {
	switch u.state {
	case held:
		s.Held += sign * u.Slots
	case leaving:
		s.Leaving += sign * u.Slots
	case suspended:
		s.Suspended += sign * u.Slots
		s.paused += sign
	case gone:
	}
}

// gapsMin is the number of gaps below which the list of launches is left alone.
const gapsMin = 32

func (s *Stage) enter(u *Unit) {
	u.at = len(s.units)
	s.units = append(s.units, u)
}

func (s *Stage) leave(u *Unit) {
	s.units[u.at] = nil
	s.gaps++
	if s.gaps > gapsMin && s.gaps > len(s.units)/2 {
		s.units = slices.DeleteFunc(s.units, func(u *Unit) bool { return u == nil })
		s.gaps = 0
		for i, u := range s.units {
			u.at = i
		}
	}
}

// Oldest walks the stage's launches, the first one first.
func (s *Stage) Oldest(yield func(*Unit) bool) {
	for _, u := range s.units {
		if u != nil && !yield(u) {
			return
		}
	}
}

// Youngest walks the stage's launches, the last one first.
func (s *Stage) Youngest(yield func(*Unit) bool) {
	for _, u := range slices.Backward(s.units) {
		if u != nil && !yield(u) {
			return
		}
	}
}

// AnyPaused reports whether a launch of the stage is suspended. Its attempts may have no slot of the stage's kind, as
// another attempt of the launch could not be suspended and has ended.
func (s *Stage) AnyPaused() bool { return s.paused > 0 }

// Paused walks the stage's suspended launches that may be resumed, the first one first.
func (s *Stage) Paused(yield func(*Unit) bool) {
	left := s.paused
	for _, u := range s.units {
		if left == 0 {
			return
		}
		if u != nil && u.state == suspended {
			if left--; !u.Ends() && !yield(u) {
				return
			}
		}
	}
}

// listed returns what a bundle has that needs so many slots of the stage's kind.
func (s *Stage) listed(slots int) *listed {
	if s.last == nil || s.last.slots != slots {
		s.last = &listed{s, slots}
	}
	return s.last
}

// needs is how many slots of the stage's kind a bundle needs.
func (s *Stage) needs(b *view.Bundle) int { return gangs.Slots(b, s.kind) }

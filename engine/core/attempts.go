package core

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// attemptSet is a job's live attempts, or a launcher's, in no order. Each attempt
// knows its place in both, so that one goes without a search.
type attemptSet []*attempt

// Which set a place is of.
const (
	inJob = iota
	inLauncher
	attemptSets
)

func (s *attemptSet) add(a *attempt, which int) {
	a.places[which] = int32(len(*s))
	*s = append(*s, a)
}

// remove takes an attempt out of a set that it is in.
func (s *attemptSet) remove(a *attempt, which int) {
	last := len(*s) - 1
	moved := (*s)[last]
	(*s)[a.places[which]] = moved
	moved.places[which] = a.places[which]
	(*s)[last] = nil
	*s = (*s)[:last]
}

// sorted lists the attempts in order of id. The list does not change with the set.
func (s attemptSet) sorted() []*attempt {
	list := slices.Clone(s)
	slices.SortFunc(list, func(x, y *attempt) int { return cmp.Compare(x.id, y.id) })
	return list
}

// attempt returns the live attempt of an id on a launcher, or nil.
func (c *Core) attempt(l *launcher, id uint64) *attempt {
	if a := c.attempts.Get(scheduler.AttemptID(id)); a != nil && a.launcher == l {
		return a
	}
	return nil
}

// addAttempt makes an attempt a live one.
func (c *Core) addAttempt(a *attempt) {
	c.attempts.Set(a.id, a)
	a.run.bundle.job.attempts.add(a, inJob)
	a.launcher.attempts.add(a, inLauncher)
	if a.run.speculative {
		a.run.bundle.job.doubled++
	}
	if a.phase == attemptSuspended {
		a.rest(+1)
	}
}

// removeAttempt ends that.
func (c *Core) removeAttempt(a *attempt) {
	c.attempts.Delete(a.id)
	a.run.bundle.job.attempts.remove(a, inJob)
	a.launcher.attempts.remove(a, inLauncher)
	if a.run.speculative {
		a.run.bundle.job.doubled--
	}
	if a.phase == attemptSuspended {
		a.rest(-1)
	}
}

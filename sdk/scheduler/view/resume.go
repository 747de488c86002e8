package view

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TakeForResume takes what a suspended attempt and all attempts of its launch need to resume on
// their launchers: their slots, and memory for what they have in swap. It draws on what is reserved
// for their bundle first, then on what is free. It returns false, and takes nothing, if there is
// too little, or the job's user is at the limit. It also does so if one of them is not suspended, is resuming already, or is being
// preempted. Call it once for each launch of a bundle: each call takes again.
func (c *Capacity) TakeForResume(a *Attempt) bool {
	mark := c.Mark()
	for x := range a.together {
		l := x.joined()
		user := x.Job().user
		if l == nil || !x.waits() || user != nil && !user.allows(x.freedBySuspension()) {
			c.Undo(mark)
			return false
		}
		c.takeForUser(user, x.freedBySuspension())
		if !c.takeForResume(l, x.Bundle.ID, x.Need) {
			c.Undo(mark)
			return false
		}
	}
	return true
}

// Release frees tentatively the slots and memory of a live attempt, as if it were suspended or,
// with suspend false, ended. A suspended attempt frees only the memory that fits in swap. An
// attempt that is already suspended can only be ended, which frees its memory outside swap.
func (c *Capacity) Release(a *Attempt, suspend bool) {
	if l := a.joined(); l != nil {
		if user := a.Job().user; user != nil {
			c.takeForUser(user, scheduler.Usage{}.Minus(a.freedBy(suspend)))
		}
		c.release(l, a.Need, a.State == Suspended && !a.Resuming, suspend)
	}
}

// freedBy is what the attempt's user holds no more when it is suspended, or ends.
func (a *Attempt) freedBy(suspend bool) scheduler.Usage {
	if !suspend {
		return a.usage()
	}
	if a.State == Suspended && !a.Resuming {
		return scheduler.Usage{}
	}
	return a.freedBySuspension()
}

// CountSuspending counts an attempt as about to be suspended, for MaySuspend, and frees nothing of
// what it holds.
func (c *Capacity) CountSuspending(a *Attempt) {
	if l := a.joined(); l != nil {
		c.countSuspending(l, a.Need)
	}
}

// MaySuspend reports whether all these attempts may be suspended: their launchers can, and the
// manager's bounds allow it. It counts the attempts on their launchers that are suspended or being suspended, and those of
// Release and CountSuspending.
func (c *Capacity) MaySuspend(list []*Attempt, most scheduler.Limits) bool {
	for _, a := range list {
		l := a.joined()
		if l == nil || l.NoSuspend {
			return false
		}
		n, memory := 0, int64(0)
		for _, x := range l.Attempts() {
			if x.isSuspending() || slices.Contains(list, x) {
				n, memory = n+1, memory+x.Need.Memory
			}
		}
		if !c.maySuspend(l, n, memory, most) {
			return false
		}
	}
	return true
}

package view

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// TakeForResume takes what a suspended attempt needs to go on, and with it all that was
// launched together: their slots, where they are, and what memory they have in swap, from what is reserved for their bundle
// alone first, then from what is free. It returns false, and takes nothing, when there is
// not that much, or one of them is not suspended, goes on already, or is being preempted.
// Call it once for each launch of a bundle: a second call takes as much once more.
func (v *View) TakeForResume(a *Attempt) bool {
	mark := v.Mark()
	for x := range a.together {
		l := v.Launcher(x.Launcher)
		if l == nil || !x.waits() || !v.takeForResume(l, x.Bundle.ID, x.Need) {
			v.Undo(mark)
			return false
		}
	}
	return true
}

// GiveBack adds to what is tentatively free what a live attempt would leave, were it
// suspended or else ended: its slots, and its memory, or as much of that as goes to swap. Of
// one that is suspended, and can only be ended, it is what of its memory is not in swap.
func (v *View) GiveBack(a *Attempt, suspend bool) {
	if l := v.Launcher(a.Launcher); l != nil {
		v.giveBack(l, a.Need, a.State == Suspended && !a.Resuming, suspend)
	}
}

// Goes is GiveBack of one that would be suspended, when what it leaves is not to be counted
// as free: it counts for MaySuspend alone.
func (v *View) Goes(a *Attempt) {
	if l := v.Launcher(a.Launcher); l != nil {
		v.goes(l, a.Need)
	}
}

// MaySuspend says whether attempts may be suspended within the manager's bounds, all of them:
// beside what is suspended on their launchers, is about to be, and would be (GiveBack).
func (v *View) MaySuspend(list []*Attempt, most scheduler.Limits) bool {
	for _, a := range list {
		l := v.Launcher(a.Launcher)
		if l == nil {
			return false
		}
		n, memory := 0, int64(0)
		for _, x := range l.Attempts() {
			if x.isSuspending() || slices.Contains(list, x) {
				n, memory = n+1, memory+x.Need.Memory
			}
		}
		if !v.maySuspend(l, n, memory, most) {
			return false
		}
	}
	return true
}

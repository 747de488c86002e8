package view

// TakeAgain takes what a suspended attempt needs to go on, and with it all that was
// launched together: their slots, where they are, and what memory they have in swap, from what is reserved for their bundle
// alone first, then from what is free. It returns false, and takes nothing, when there is
// not that much, or one of them is not suspended, goes on already, or is being preempted.
// Call it once for each launch of a bundle: a second call takes as much once more.
func (v *View) TakeAgain(a *Attempt) bool {
	mark := v.Mark()
	for x := range a.together {
		l := v.Launcher(x.Launcher)
		if l == nil || !x.waits() || !v.takeAgain(l, x.Bundle.ID, x.Need) {
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

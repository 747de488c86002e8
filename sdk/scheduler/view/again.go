package view

// TakeAgain takes what a suspended attempt needs to go on, and with it all that was
// launched together: their slots, where they are, from what is reserved for their bundle
// alone first, then from what is free. It returns false, and takes nothing, when there is
// not that much, or one of them is not suspended, goes on already, or is being preempted.
// Call it once for each launch of a bundle: a second call takes as much once more.
func (v *View) TakeAgain(a *Attempt) bool {
	mark := v.Mark()
	for x := range a.together {
		l := v.Launcher(x.Launcher)
		need := x.again()
		if l == nil || !x.waits() || !v.takeAlone(l, x.Bundle.ID, &need) {
			v.Undo(mark)
			return false
		}
	}
	return true
}

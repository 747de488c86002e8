package preemption

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Leaver is an attempt that is being stopped for a job.
type Leaver struct {
	Attempt scheduler.AttemptID
	For     scheduler.JobID
}

// Leaving are all attempts that are being stopped, in order of attempt. They belong in a
// policy's checkpoint: a snapshot may lack a preemption whose victims are still live. A Leaving
// is immutable; Start and After return the next one.
type Leaving []Leaver

// Has says whether an attempt is being stopped.
func (l Leaving) Has(id scheduler.AttemptID) bool {
	_, found := slices.BinarySearchFunc(l, id, order)
	return found
}

// Start returns the leaving attempts for a policy that starts, whose view has the snapshot. The
// Leaving is the one in its checkpoint; nil: none.
func (l Leaving) Start(v *view.View) Leaving {
	var all []*view.Attempt
	for _, j := range v.Jobs() {
		all = append(all, j.Attempts()...)
	}
	return l.among(all)
}

// After returns them after a round of such events, which the view has applied.
func (l Leaving) After(v *view.View, events []scheduler.Event) Leaving {
	return l.without(events).among(l.candidates(v, events))
}

// without leaves out the attempts that their launchers could not suspend, as events say.
func (l Leaving) without(events []scheduler.Event) Leaving {
	var failed []scheduler.AttemptID
	for _, e := range events {
		if f, is := e.(scheduler.SuspensionFailed); is {
			failed = append(failed, f.Attempt)
		}
	}
	if failed == nil {
		return l
	}
	return slices.DeleteFunc(slices.Clone(l), func(x Leaver) bool { return slices.Contains(failed, x.Attempt) })
}

// candidates lists the live attempts that may be being stopped: those that were, and all of the
// launches that were preempted since. Some may be there twice.
func (l Leaving) candidates(v *view.View, events []scheduler.Event) (all []*view.Attempt) {
	for _, x := range l {
		if a := v.Attempt(x.Attempt); a != nil {
			all = append(all, a)
		}
	}
	for _, e := range events {
		if o, ok := e.(scheduler.Outcome); ok && o.Accepted {
			for _, id := range o.Preempt.Victims {
				if a := v.Attempt(id); a != nil {
					all = append(all, a.Bundle.Attempts()...)
				}
			}
		}
	}
	for _, e := range v.Ended() {
		if e.Leaving != 0 {
			all = append(all, e.Bundle.Attempts()...)
		}
	}
	return all
}

// among returns those of the attempts that are being stopped, as the view or this Leaving knows. The
// list is changed.
func (l Leaving) among(of []*view.Attempt) Leaving {
	slices.SortFunc(of, func(a, b *view.Attempt) int { return cmp.Compare(a.ID, b.ID) })
	var now Leaving
	for _, a := range slices.Compact(of) {
		x := Leaver{a.ID, a.Leaving}
		if i, found := slices.BinarySearchFunc(l, a.ID, order); x.For == 0 && found {
			x = l[i]
		}
		if x.For != 0 && a.State != view.Suspended {
			now = append(now, x)
		}
	}
	return now
}

func order(l Leaver, id scheduler.AttemptID) int { return cmp.Compare(l.Attempt, id) }

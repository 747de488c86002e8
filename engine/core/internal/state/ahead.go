package state

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// An attempt that is held ahead was launched, and has no slots yet. Its launcher starts it when an
// attempt of its job and stage, a predecessor, ends there by itself. It then has the slots and
// memory of the predecessor. So what its job and its user hold does not change, nor does what is
// free.

// HeldAhead reports whether the attempt is held ahead at its launcher.
func (a *Attempt) HeldAhead() bool { return a.heldAhead }

// handsOver reports whether the attempt may be a predecessor: it runs, or is about to, nothing is
// asked of it, its bundle has one group, and its stage is short. An attempt with countable resources
// may not: its process keeps those until its end. Nor may one that markOutlasted marked.
func (a *Attempt) handsOver() bool {
	b := a.BundleAttempt.Bundle
	return a.HasSlots && !a.outlasted && a.Stop() == nil && !a.Suspending() && !a.Resuming() && a.Phase() != phase.Suspended &&
		len(a.BundleAttempt.Attempts) == 1 && !b.Last() && a.Resources.IsZero() && b.Job.Stages[a.Stage].Short()
}

// sameStage reports whether two attempts are of one stage and request the same.
func (a *Attempt) sameStage(x *Attempt) bool {
	return a.BundleAttempt.Bundle.Job == x.BundleAttempt.Bundle.Job && a.Stage == x.Stage && a.Request == x.Request
}

// AheadRoom lists how many bundles may be launched ahead on a launcher, by job, then stage: for each
// predecessor as many as its stage allows, at most so many, less those that are held. There are none
// where something is reserved or suspended, or will be, nor on a launcher of an older version. The
// stage of the last attempt that ended there is listed too: the next round may give its slot to a
// predecessor.
func (st *Cluster) AheadRoom(id scheduler.LauncherID, most int) []scheduler.AheadRoom {
	l := st.Launchers.Get(id)
	var list []scheduler.AheadRoom
	if j := st.Jobs.Get(l.endedJob); j != nil && j.Phase() == JobRunning {
		list = append(list, scheduler.AheadRoom{Job: j.ID, Stage: scheduler.StageID(l.endedStage), PerLaunch: j.Stages[l.endedStage].AheadPerSlot(most)})
	}
	return l.aheadRoom(list, most)
}

// aheadRoom adds the room of the stages that run there to a list.
func (l *Launcher) aheadRoom(list []scheduler.AheadRoom, most int) []scheduler.AheadRoom {
	if most == 0 || !l.holdsAhead || !l.Usable() || l.Awaited() {
		return nil
	}
	for _, a := range l.attempts {
		n := 0
		switch {
		case a.Suspending() || a.Resuming() || a.Reservation != 0 && !a.HeldAhead():
			return nil
		case a.HeldAhead():
			n = -1
		case a.handsOver():
			n = a.BundleAttempt.Bundle.Job.Stages[a.Stage].AheadPerSlot(most)
		default:
			continue
		}
		x := scheduler.AheadRoom{Job: a.BundleAttempt.Bundle.Job.ID, Stage: scheduler.StageID(a.Stage)}
		i, found := slices.BinarySearchFunc(list, x, compareAhead)
		if !found {
			list = slices.Insert(list, i, x)
		}
		list[i].Count += n
		list[i].PerLaunch = max(list[i].PerLaunch, n)
	}
	for i := range list {
		if list[i].Count < 0 { // more are held than run: the next launches have no room either
			list[i].Count, list[i].PerLaunch = 0, 0
		}
	}
	return slices.DeleteFunc(list, func(x scheduler.AheadRoom) bool { return x.Count+x.PerLaunch == 0 })
}

// EndedByItself notes that an attempt ended there. If its bundle has one group, its stage is offered
// with room ahead of the launches to come.
func (l *Launcher) EndedByItself(a *Attempt) {
	if b := a.BundleAttempt.Bundle; len(a.BundleAttempt.Attempts) == 1 && !b.Last() && a.Resources.IsZero() {
		l.endedJob, l.endedStage = b.Job.ID, a.Stage
	}
}

func compareAhead(x, y scheduler.AheadRoom) int {
	return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.Stage, y.Stage))
}

// MayLaunchAhead reports whether the launcher may hold one more bundle ahead of its slots: a bundle
// of one group, whose request equals that of a predecessor.
func (l *Launcher) MayLaunchAhead(b *Bundle, most int) bool {
	stage, request := int32(b.StageOf(0)), b.Request(0)
	room := slices.ContainsFunc(l.aheadRoom(nil, most), func(x scheduler.AheadRoom) bool {
		return x.Job == b.Job.ID && x.Stage == scheduler.StageID(stage) && x.Count > 0
	})
	return room && slices.ContainsFunc(l.attempts, func(a *Attempt) bool {
		return a.BundleAttempt.Bundle.Job == b.Job && a.Stage == stage && a.Request == request && a.handsOver()
	})
}

// Successor returns the attempt that takes the slots of one that ended by itself; nil: none does.
// started is the attempt that the launcher says it started there. Else it is the one launched
// first, unless the slots are asked for otherwise.
func (a *Attempt) Successor(started scheduler.AttemptID) (next *Attempt) {
	l := a.Launcher
	if l.heldAhead == 0 || !a.HasSlots {
		return nil
	}
	free := a.Stop() == nil && !a.Suspending() && a.Reservation == 0 && l.Usable() && !l.Awaited()
	for _, x := range l.attempts {
		switch {
		case !x.HeldAhead() || !a.sameStage(x):
		case x.ID == started:
			return x // it runs, whatever is asked of it meanwhile
		case free && x.Stop() == nil && (next == nil || x.ID < next.ID):
			next = x
		}
	}
	return next
}

// WatchAhead sets the launcher's timer for an attempt that is held ahead since a time. One timer
// for all of a launcher's: most start long before it is due.
func (l *Launcher) WatchAhead(s *step.Step, since scheduler.Time) {
	if l.aheadDue == 0 {
		l.aheadDue = since.Add(s.Set.AheadFor)
		s.SetTimer(l.aheadDue.Sub(s.Now), step.TimerAhead, uint64(l.ID))
	}
}

// HeldTooLong returns the attempts that are held ahead for Settings.AheadFor, in order of id, when
// the launcher's timer is due. It sets the timer again for the others.
func (l *Launcher) HeldTooLong(s *step.Step) (late []*Attempt) {
	if l.aheadDue == 0 || s.Now < l.aheadDue {
		return nil
	}
	l.aheadDue = 0
	var next *Attempt // the one held longest of those that may wait
	for _, a := range l.attempts {
		switch {
		case !a.HeldAhead() || a.Stop() != nil:
		case a.BundleAttempt.launched.Add(s.Set.AheadFor) <= s.Now:
			late = append(late, a)
		case next == nil || a.BundleAttempt.launched < next.BundleAttempt.launched:
			next = a
		}
	}
	if next != nil {
		l.WatchAhead(s, next.BundleAttempt.launched)
	}
	if len(late) > 0 {
		l.markOutlasted(s)
	}
	slices.SortFunc(late, func(x, y *Attempt) int { return cmp.Compare(x.ID, y.ID) })
	return late
}

// markOutlasted lets nothing more be held for the attempts that have run for half of
// Settings.AheadFor. Others of their stage are short, and these are not.
func (l *Launcher) markOutlasted(s *step.Step) {
	for _, a := range l.attempts {
		if a.handsOver() && a.Phase() == phase.Running && a.Running(s.Now) >= s.Set.AheadFor/2 {
			a.outlasted = true
		}
	}
}

// HasHeldAhead reports whether attempts are held ahead on the launcher.
func (l *Launcher) HasHeldAhead() bool { return l.heldAhead > 0 }

// Running returns how many attempts on the launcher are neither suspended nor held ahead.
func (l *Launcher) Running() int { return len(l.attempts) - l.suspended - l.heldAhead }

// TookSlots records that an attempt is not held ahead any more.
func (a *Attempt) TookSlots() {
	a.heldAhead = false
	a.Launcher.heldAhead--
}

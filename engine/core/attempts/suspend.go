package attempts

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// SuspendRun asks for all of a bundle attempt to be stopped and kept.
func (as *Attempts) SuspendRun(r *state.Run) {
	for _, a := range r.Attempts {
		if a.AskSuspend() {
			as.orders.SendSuspend(a)
		}
	}
}

// SuspendedNow frees an attempt's slots. Its memory it keeps.
func (as *Attempts) SuspendedNow(a *state.Attempt) {
	as.SureStarted(a)
	if !a.Suspend(as.step.Now) {
		as.settled(a, phase.Suspended)
		as.resumeUnasked(a)
		return
	}
	a.Rest(+1)
	if a.Stop() == nil {
		a.Unacked.Confirmed()
	}
	as.capacity.GiveSlots(&a.Launcher.Launcher, &a.Allocation)
	as.capacity.VictimDone(&a.Allocation)
	as.capacity.Changed(&a.Launcher.Launcher)
	as.events.Emit(a.Run.Bundle, scheduler.AttemptSuspended{At: as.step.Now, Attempt: a.ID})
	as.life.TouchAttempt(a)
	as.noteSuspended(a.Run)
}

// settled takes it that an attempt is on its launcher, too, what it counts as here. An
// inventory had told otherwise, where the log lost what came between.
func (as *Attempts) settled(a *state.Attempt, p phase.Phase) {
	if a.Phase() == p && !a.Suspending() && !a.Resuming() && a.Stop() == nil {
		a.Unacked.Confirmed()
	}
}

// resumeUnasked has an attempt go on that its launcher has suspended and that counts as
// running: the log lost that it started, and all that came after.
func (as *Attempts) resumeUnasked(a *state.Attempt) {
	if a.Phase() == phase.Running && !a.Suspending() && a.Stop() == nil {
		as.orders.SendResume(a)
	}
}

// noteSuspended lists a run as suspended when as much of it is as will be: some
// of a gang may have come to their end first, or can't be suspended.
func (as *Attempts) noteSuspended(r *state.Run) {
	if r.Suspended() == 0 && r.Rests() {
		as.life.ListSuspended(r, as.step.Now)
		as.step.After(as.step.Set.SuspendMax, step.TimerSuspend, r.ID)
	}
}

// dropSuspended takes a run off the list of those that wait to be resumed, if it is there.
// What is kept for its bundle to go on is free for all when none of it waits any more.
func (as *Attempts) dropSuspended(r *state.Run) {
	if r.Suspended() == 0 {
		return
	}
	as.life.DropSuspended(r)
	if r.Bundle.Resting() == nil {
		as.capacity.ReleaseForBundle(r.Bundle.ID())
	}
}

// Resume lets a suspended attempt run again, with the rest of its bundle, and returns those
// that are to.
func (as *Attempts) Resume(d scheduler.Resume) ([]scheduler.AttemptID, scheduler.RefusalReason, string) {
	a := as.life.Attempts.Get(d.Attempt)
	switch {
	case a == nil || a.Run.Bundle.Last():
		return nil, scheduler.UnknownID, fmt.Sprintf("attempt %d is not there", d.Attempt)
	case !a.Waits() || a.Stop() != nil || a.Run.Stopped() != 0:
		return nil, scheduler.NotSuspended, fmt.Sprintf("attempt %d is not suspended", d.Attempt)
	}
	ids, why := as.resumeRun(a.Run)
	if why != "" {
		return nil, scheduler.NoCapacity, why
	}
	return ids, scheduler.NotRefused, ""
}

// resumeRun takes the slots of a run's suspended attempts and resumes them, or
// says why it can't and takes none.
func (as *Attempts) resumeRun(r *state.Run) (ids []scheduler.AttemptID, why string) {
	list, held := r.Waiting()
	if why := as.capacity.TakeAgain(r.Bundle.ID(), held); why != "" {
		return nil, why
	}
	for _, a := range list {
		ids = append(ids, a.ID)
		a.AskResume()
		as.orders.SendResume(a)
	}
	as.life.DropSuspended(r)
	as.capacity.ReleaseForBundle(r.Bundle.ID())
	as.events.Protect(r.Bundle)
	return ids, ""
}

// ResumedNow has an attempt run again.
func (as *Attempts) ResumedNow(a *state.Attempt) {
	since := a.Since()
	if !a.Resume(as.step.Now) {
		as.settled(a, phase.Running)
		return
	}
	as.step.Stats.Resumed++
	as.step.Stats.Rested(as.step.Now.Sub(since))
	a.Rest(-1)
	if a.Stop() == nil {
		a.Unacked.Confirmed()
	}
	as.capacity.Changed(&a.Launcher.Launcher)
	a.Run.Bundle.SetTwice(0)
	as.events.Emit(a.Run.Bundle, scheduler.AttemptResumed{At: as.step.Now, Attempt: a.ID})
	as.life.TouchAttempt(a)
}

// ResumeSuspended is the manager's own resuming, for a policy that does not:
// whole bundles, the first suspended first, as their slots get free.
func (as *Attempts) ResumeSuspended() {
	for r := range as.life.Suspended.All() {
		// Earlier managers had policies suspend a job's last group, too.
		if r.Stopped() == 0 && (!as.policy.Resumes() || r.Bundle.Last()) {
			as.resumeRun(r)
		}
	}
}

// SuspendedTooLong kills what could not be resumed, to be queued again.
func (as *Attempts) SuspendedTooLong(id uint64) {
	if as.policy.Resumes() {
		return
	}
	for r := range as.life.Suspended.All() {
		if r.ID == id && as.step.Now.Sub(r.Suspended()) >= as.step.Set.SuspendMax {
			as.orders.StopRun(r, scheduler.Preempted, fmt.Sprintf("it was suspended for %v", as.step.Set.SuspendMax), 0, 0)
			as.dropSuspended(r)
		}
	}
}

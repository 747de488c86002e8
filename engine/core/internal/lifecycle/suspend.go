package lifecycle

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// SuspendBundleAttempt requests the suspension of all attempts of a bundle attempt.
func (as *Attempts) SuspendBundleAttempt(r *state.BundleAttempt) {
	for _, a := range r.Attempts {
		if a.AskSuspend() {
			as.resources.Offers.MarkAhead(&a.Launcher.Launcher)
			as.dispatch.SendSuspend(a)
		}
	}
}

// SuspendedNow releases the slots of an attempt that its launcher suspended. Its memory stays
// allocated.
func (as *Attempts) SuspendedNow(a *state.Attempt) {
	as.EnsureStarted(a)
	if !a.Suspend(as.step.Now) {
		as.confirmPhase(a, phase.Suspended)
		as.resumeUnasked(a)
		return
	}
	a.CountSuspended(+1)
	if a.Stop() == nil {
		a.Unacked.Confirmed()
	}
	as.resources.ReleaseSlots(&a.Launcher.Launcher, &a.Allocation)
	as.state.NoteFreed(a)
	as.resources.Reservations.VictimDone(&a.Allocation)
	as.resources.Offers.MarkChanged(&a.Launcher.Launcher)
	as.events.Notify(a.BundleAttempt.Bundle, scheduler.AttemptSuspended{At: as.step.Now, Attempt: a.ID})
	as.state.Changes.MarkAttempt(a)
	as.noteSuspended(a.BundleAttempt)
}

// confirmPhase treats a report of the phase that an attempt already has in the state as the
// confirmation of the last command. An inventory may have reported another phase before, where the
// log lost records.
func (as *Attempts) confirmPhase(a *state.Attempt, p phase.Phase) {
	if a.Phase() == p && !a.Suspending() && !a.Resuming() && a.Stop() == nil {
		a.Unacked.Confirmed()
	}
}

// resumeUnasked resumes an attempt that its launcher has suspended and that counts as running: the
// log lost the records since its start.
func (as *Attempts) resumeUnasked(a *state.Attempt) {
	if a.Phase() == phase.Running && !a.Suspending() && a.Stop() == nil {
		as.dispatch.SendResume(a)
	}
}

// noteSuspended lists a bundle attempt as suspended once all its attempts that can be suspended
// are. Some attempts of a gang may have ended first, or can't be suspended.
func (as *Attempts) noteSuspended(r *state.BundleAttempt) {
	if r.Suspended() == 0 && r.WaitsForResume() {
		as.state.Suspended.Add(r, as.step.Now)
		as.step.SetTimer(as.step.Set.SuspendMax, step.TimerSuspend, r.ID)
	}
}

// dropSuspended removes a bundle attempt from the list of those waiting for resumption, if it is on
// it. What is reserved for its bundle to resume is released when no attempt of the bundle waits any
// more.
func (as *Attempts) dropSuspended(r *state.BundleAttempt) {
	if r.Suspended() == 0 {
		return
	}
	as.state.Suspended.Remove(r)
	if r.Bundle.SuspendedAttempt() == nil {
		as.resources.Reservations.ReleaseForBundle(r.Bundle.ID())
	}
}

// Resume resumes a suspended attempt with the rest of its bundle attempt, and returns the
// resumed attempts.
func (as *Attempts) Resume(d scheduler.Resume) ([]scheduler.AttemptID, scheduler.RefusalReason, string) {
	a := as.state.Attempts.Get(d.Attempt)
	switch {
	case a == nil || a.BundleAttempt.Bundle.Last():
		return nil, scheduler.UnknownID, fmt.Sprintf("attempt-%d is not there", d.Attempt)
	case !a.WaitsForResume() || a.Stop() != nil || a.BundleAttempt.Stopped() != 0:
		return nil, scheduler.NotSuspended, fmt.Sprintf("attempt-%d is not suspended", d.Attempt)
	}
	return as.resumeBundleAttempt(a.BundleAttempt)
}

// resumeBundleAttempt allocates slots for its suspended attempts and resumes them. If anything is
// missing, or its user is at the limit, it takes nothing and returns why.
func (as *Attempts) resumeBundleAttempt(r *state.BundleAttempt) (ids []scheduler.AttemptID, reason scheduler.RefusalReason, why string) {
	list, held := r.Waiting()
	if user, need := r.Bundle.Job.User(), r.TakesToResume(); !user.Allows(need, scheduler.Usage{}) {
		return nil, scheduler.UserAtLimit, user.Refusal(need)
	}
	if why := as.resources.TakeForResume(r.Bundle.ID(), held); why != "" {
		return nil, scheduler.NoCapacity, why
	}
	for _, a := range list {
		ids = append(ids, a.ID)
		a.AskResume()
		as.state.Changes.MarkUser(r.Bundle.Job.User())
		as.dispatch.SendResume(a)
	}
	as.state.Suspended.Remove(r)
	as.resources.Reservations.ReleaseForBundle(r.Bundle.ID())
	as.events.Protect(r.Bundle)
	return ids, scheduler.NotRefused, ""
}

// ResumedNow records that an attempt runs again, as its launcher reports.
func (as *Attempts) ResumedNow(a *state.Attempt) {
	since := a.Since()
	if !a.Resume(as.step.Now) {
		as.confirmPhase(a, phase.Running)
		return
	}
	as.step.Stats.Resumed++
	as.step.Stats.AddSuspension(as.step.Now.Sub(since))
	a.CountSuspended(-1)
	if a.Stop() == nil {
		a.Unacked.Confirmed()
	}
	as.resources.Offers.MarkChanged(&a.Launcher.Launcher)
	as.events.WithdrawSpeculation(a.BundleAttempt.Bundle)
	as.events.Notify(a.BundleAttempt.Bundle, scheduler.AttemptResumed{At: as.step.Now, Attempt: a.ID})
	as.state.Changes.MarkAttempt(a)
}

// ResumeSuspended resumes on behalf of a policy that does not resume: whole bundle attempts, in
// order of suspension, as slots become free. The policy is notified as of a decision of its own.
func (as *Attempts) ResumeSuspended() {
	for r := range as.state.Suspended.All() {
		// Earlier managers let policies suspend a job's last group, too.
		if r.Stopped() == 0 && (!as.policy.Last.Resumes() || r.Bundle.Last()) {
			if ids, refused, _ := as.resumeBundleAttempt(r); refused == scheduler.NotRefused {
				as.events.NotifyResuming(r.Bundle, ids)
			}
		}
	}
}

// SuspendedTooLong kills an attempt that could not be resumed within Settings.SuspendMax, so that
// it is queued again.
func (as *Attempts) SuspendedTooLong(id uint64) {
	if as.policy.Last.Resumes() {
		return
	}
	for r := range as.state.Suspended.All() {
		if r.ID == id && as.step.Now.Sub(r.Suspended()) >= as.step.Set.SuspendMax {
			as.dispatch.StopBundleAttempt(r, scheduler.Preempted, fmt.Sprintf("it was suspended for %v", as.step.Set.SuspendMax), 0)
			as.dropSuspended(r)
		}
	}
}

package lifecycle

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// launchAhead starts a bundle of one group whose attempt is held ahead, or refuses to.
func (as *Attempts) launchAhead(b *state.Bundle, l *state.Launcher) ([]scheduler.AttemptID, scheduler.RefusalReason, string) {
	switch {
	case !as.policy.Has(scheduler.AbilityAhead):
		return nil, scheduler.Unsupported, fmt.Sprintf("%v was launched ahead by a policy without that ability", b.ID())
	case b.Phase() != state.BundleReady || b.Width() != 1:
		return nil, scheduler.Unsupported, fmt.Sprintf("%v can't be launched ahead: it has several groups, or runs", b.ID())
	case !l.MayLaunchAhead(b, as.step.Set.AheadMax):
		return nil, scheduler.NoCapacity, fmt.Sprintf("launcher %d (%s) can't hold more of the stage of %v ahead", l.ID, l.Name, b.ID())
	}
	ids := as.startBundleAttempt(b, []*state.Launcher{l}, false, true)
	as.resources.Offers.MarkChanged(&l.Launcher)
	l.WatchAhead(as.step, as.step.Now)
	as.step.Stats.Ahead++
	return ids, scheduler.NotRefused, ""
}

// handOver gives what an attempt has, which ended by itself, to one that is held ahead, and returns
// that; nil: there is none. started is the attempt that the launcher has started in its place.
func (as *Attempts) handOver(a *state.Attempt, started scheduler.AttemptID) *state.Attempt {
	next := a.Successor(started)
	if next != nil {
		as.resources.HandOver(&a.Launcher.Launcher, &a.Allocation, &next.Allocation)
		next.TookSlots()
	}
	return next
}

// tookSlots notifies the policy that an attempt is not held ahead any more, and has it started
// unless its launcher has done so.
func (as *Attempts) tookSlots(a *state.Attempt, started bool) {
	as.state.Changes.MarkAttempt(a)
	as.events.Notify(a.BundleAttempt.Bundle, scheduler.AttemptTookSlots{At: as.step.Now, Attempt: a.ID})
	if !started && a.Stop() == nil {
		as.dispatch.SendStart(a)
	}
}

// HeldTooLong withdraws the attempts of a launcher that were held ahead for Settings.AheadFor.
func (as *Attempts) HeldTooLong(id scheduler.LauncherID) {
	l := as.state.Launchers.Get(id)
	if l == nil {
		return
	}
	late := l.HeldTooLong(as.step)
	if len(late) > 0 {
		as.resources.Offers.MarkAhead(&l.Launcher)
	}
	for _, a := range late {
		as.dispatch.WithdrawAttempt(a, "no attempt of its stage ended at its launcher for a while")
	}
}

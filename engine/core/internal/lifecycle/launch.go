package lifecycle

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Launch starts a whole bundle, has its launcher hold it ahead, or refuses to.
func (as *Attempts) Launch(d scheduler.Launch) ([]scheduler.AttemptID, scheduler.RefusalReason, string) {
	b := as.state.Bundles.Get(d.Bundle)
	if b == nil || b.Last() {
		return nil, scheduler.UnknownID, fmt.Sprintf("%v is not there", d.Bundle)
	}
	speculative := b.Phase() == state.BundleRunning && b.SpeculationOffered() != 0
	if b.Phase() != state.BundleReady && !speculative {
		return nil, scheduler.NotReady, fmt.Sprintf("%v of %s is %s", b.ID(), b.Job.ID, b.Phase())
	}
	if b.Job.Phase() == state.JobEnding {
		return nil, scheduler.NotReady, fmt.Sprintf("%s of %v ends", b.Job.ID, b.ID())
	}
	if speculative && (b.Attempts()[0].Granted() || b.Attempts()[0].Stopped() != 0) {
		return nil, scheduler.NotReady, fmt.Sprintf("%v of %s commits, or is being stopped", b.ID(), b.Job.ID)
	}
	if len(d.Launchers) != b.Width() {
		return nil, scheduler.WrongShape, fmt.Sprintf("%v of %s has %d groups and %d launchers were named", b.ID(), b.Job.ID, b.Width(), len(d.Launchers))
	}
	where, rooms := as.where[:0], as.targets[:0]
	for _, id := range d.Launchers {
		l := as.state.Launchers.Get(id)
		if l == nil {
			return nil, scheduler.UnknownID, fmt.Sprintf("launcher %d is not there", id)
		}
		if why := b.Unavailable(&l.Launcher); why != "" {
			return nil, scheduler.LauncherUnavailable, fmt.Sprintf("launcher %d (%s) %s", id, l.Name, why)
		}
		where, rooms = append(where, l), append(rooms, &l.Launcher)
	}
	as.where, as.targets = where, rooms
	if d.Ahead {
		ids, reason, why := as.launchAhead(b, where[0])
		// What it was to wait for may have ended while the policy decided. Then it takes free slots.
		if reason != scheduler.NoCapacity || !b.WithinUserLimit(scheduler.Usage{}) || as.resources.Allocate(b, rooms) != "" {
			return ids, reason, why
		}
		return as.startBundleAttempt(b, where, false, false), scheduler.NotRefused, ""
	}
	if !b.WithinUserLimit(scheduler.Usage{}) {
		return nil, scheduler.UserAtLimit, b.Job.User().Refusal(b.Usage())
	}
	if why := as.resources.Allocate(b, rooms); why != "" {
		return nil, scheduler.NoCapacity, why
	}
	return as.startBundleAttempt(b, where, speculative, false), scheduler.NotRefused, ""
}

// startBundleAttempt makes the attempts of a bundle whose resources are allocated, or that is held
// ahead.
func (as *Attempts) startBundleAttempt(b *state.Bundle, where []*state.Launcher, speculative, ahead bool) []scheduler.AttemptID {
	r, ids := as.state.StartBundleAttempt(b, where, speculative, ahead, as.ids)
	if speculative {
		as.step.Stats.Speculative++
	}
	if b.Protection.Preempted() {
		as.events.Protect(b)
	}
	if b.StartIsFinal() {
		as.dispatch.SendStartDeferred(r.Attempts[0])
	} else {
		for _, a := range r.Attempts {
			as.dispatch.SendStart(a)
		}
	}
	as.speculation.watchStragglers()
	as.resources.Reservations.ReleaseFor(b, b.Job.Ready.Len(), scheduler.ReservationUsed)
	if b.Job.KnownToPolicy() { // the cleaning of a job that was never admitted is no start
		as.jobs.started(b.Job)
	}
	as.state.Changes.MarkJob(b.Job)
	return ids
}

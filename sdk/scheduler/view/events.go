package view

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// event applies one event, through the part of the view that it concerns. Every handler checks
// before it changes anything, so that an error leaves no partial change.
func (v *View) event(e scheduler.Event) error {
	switch e := e.(type) {
	case scheduler.LauncherJoined:
		return v.launcherJoined(e)
	case scheduler.LauncherLost:
		return v.launcherLost(e)
	case scheduler.LauncherDraining:
		return v.opened(e.Launcher, v.draining(e))
	case scheduler.LauncherExcluded:
		return v.opened(e.Launcher, v.excluded(e))
	case scheduler.LauncherLoad:
		return v.load(e)
	case scheduler.JobSubmitted:
		return v.submitted(e)
	case scheduler.JobUpdated:
		return v.updated(e)
	case scheduler.JobFinished:
		return v.jobFinished(e)
	case scheduler.UserLimitSet:
		return v.setUserLimit(e, v.starting)
	case scheduler.StageGrown:
		return v.grown(e)
	case scheduler.BundleReady:
		return v.ready(e)
	case scheduler.BundleWithdrawn:
		return v.withdrawn(e)
	case scheduler.BundleReopened:
		return v.reopened(e)
	case scheduler.BundleGivenUp:
		return v.givenUp(e)
	case scheduler.SpeculationOffered:
		return v.speculationOffered(e)
	case scheduler.SpeculationWithdrawn:
		return v.speculationWithdrawn(e)
	case scheduler.BundleProtected:
		return v.protected(e)
	case scheduler.BundleReserved:
		return v.setReservation(e.Job, e.Bundle, e.Launchers, e.Until)
	case scheduler.ReservationEnded:
		return v.setReservation(e.Job, e.Bundle, nil, 0)
	case scheduler.Outcome:
		return v.outcome(e)
	case scheduler.AttemptStarted:
		return v.attemptStarted(e)
	case scheduler.AttemptTookSlots:
		return v.tookSlots(e, &v.launchers)
	case scheduler.AttemptPhase:
		return v.phase(e)
	case scheduler.AttemptProgress:
		return v.progress(e)
	case scheduler.AttemptSuspended:
		return v.suspended(e)
	case scheduler.SuspensionFailed:
		return v.suspensionFailed(e)
	case scheduler.AttemptResumed:
		return v.resumed(e)
	case scheduler.AttemptStopping:
		return v.attemptStopping(e)
	case scheduler.AttemptEnded:
		return v.attemptEnded(e, &v.launchers)
	}
	return nil // settings, requests, notes, admission, time: for the policy alone
}

func (v *View) launcherJoined(e scheduler.LauncherJoined) error {
	if err := v.joined(e); err != nil {
		return err
	}
	v.arrangeLaunchers()
	return nil
}

// arrangeLaunchers passes the current launchers on.
func (v *View) arrangeLaunchers() {
	v.launchersMoved = true
	v.Capacity.launchersChanged(v.Launchers())
}

func (v *View) launcherLost(e scheduler.LauncherLost) error {
	l, err := v.lost(e)
	if err != nil {
		return err
	}
	v.arrangeLaunchers()
	v.Capacity.offered(l, &scheduler.Offer{Launcher: l.ID})
	v.offeredAhead(l)
	return nil
}

func (v *View) offer(o *scheduler.Offer) error {
	l := v.Launcher(o.Launcher)
	if l == nil {
		if len(o.Free) == 0 && len(o.Reserved) == 0 {
			return nil // the empty offer of a lost launcher
		}
		return fmt.Errorf("launcher %d offers slots and is not there", o.Launcher)
	}
	for _, f := range o.Free {
		if f.Count < 0 || f.Count > l.Total(f.Kind) {
			return fmt.Errorf("launcher %d offers %d slots of kind %s and has %d", o.Launcher, f.Count, f.Kind, l.Total(f.Kind))
		}
	}
	if !l.Resources.Covers(o.Resources) {
		return fmt.Errorf("launcher %d offers the resources %v and has %v", o.Launcher, o.Resources, l.Resources)
	}
	v.Capacity.offered(l, o)
	v.offeredAhead(l)
	return nil
}

func (v *View) outcome(e scheduler.Outcome) error {
	switch {
	case !e.Accepted:
	case e.Kind == scheduler.DecisionLaunch:
		b := v.Bundle(e.Launch.Bundle)
		if b == nil {
			return fmt.Errorf("launch of %v, which is not known", e.Launch.Bundle)
		}
		return v.launched(b, e, &v.launchers)
	case e.Kind == scheduler.DecisionPreempt:
		v.preempted(e.Preempt)
	case e.Kind == scheduler.DecisionResume:
		v.goOn(e.Attempts)
	}
	return nil
}

// opened recounts what is free on a launcher that closed or opened.
func (v *View) opened(id scheduler.LauncherID, err error) error {
	if err == nil {
		v.launchersMoved = true
		l := v.Launcher(id)
		v.Capacity.close(l, l.Closed())
	}
	return err
}

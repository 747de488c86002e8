package view

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func (v *View) outcome(e scheduler.Outcome) error {
	if !e.Accepted {
		return nil
	}
	switch e.Kind {
	case scheduler.DecisionLaunch:
		return v.launched(e)
	case scheduler.DecisionPreempt:
		for _, id := range e.Preempt.Victims {
			a := v.attempts.Get(id)
			if a == nil {
				continue // ended in the meantime
			}
			for _, peer := range a.Bundle.attempts {
				if peer.run == a.run {
					peer.Leaving = e.Preempt.For
				}
			}
			a.Bundle.onceOnly()
		}
	}
	return nil
}

// launched turns a ready bundle, or one of which a second attempt is offered, into assigned attempts.
func (v *View) launched(e scheduler.Outcome) error {
	b := v.bundles.Get(e.Launch.Bundle)
	if b == nil {
		return fmt.Errorf("launch of bundle %d, which is not known", e.Launch.Bundle)
	}
	if !b.Launchable() {
		return fmt.Errorf("launch of bundle %d of %s, which is %s", b.ID, b.Job.ID(), b.State)
	}
	if len(e.Attempts) != len(b.Groups) || len(e.Launch.Launchers) != len(b.Groups) {
		return fmt.Errorf("launch of bundle %d of %s has %d attempts on %d launchers for %d groups",
			b.ID, b.Job.ID(), len(e.Attempts), len(e.Launch.Launchers), len(b.Groups))
	}
	for i, id := range e.Attempts {
		if v.attempts.Get(id) != nil {
			return fmt.Errorf("attempt %d exists already", id)
		}
		if l := e.Launch.Launchers[i]; v.launchers.Get(l) == nil && !v.starting {
			return fmt.Errorf("launch of bundle %d of %s on launcher %d, which is not there", b.ID, b.Job.ID(), l)
		}
	}
	speculative := b.State == Launched
	b.Job.unindex(b)
	b.SpeculationOffered = false
	if !speculative {
		b.move(Launched)
	}
	members := make([]struct { // one piece of memory for all
		Attempt
		run run
	}, len(b.Groups))
	r := &members[0].run
	r.left = len(b.Groups)
	for i, id := range e.Attempts {
		a := &members[i].Attempt
		*a = Attempt{
			ID: id, Bundle: b, Group: i, Need: &b.Groups[i], Launcher: e.Launch.Launchers[i],
			Speculative: speculative, AssignedAt: e.At, Since: e.At, run: r, turn: b.turn,
		}
		v.assign(a)
	}
	return nil
}

func (v *View) assign(a *Attempt) {
	j := a.Job()
	v.attempts.Set(a.ID, a)
	j.live.add(a)
	a.Bundle.attempts = append(a.Bundle.attempts, a)
	if a.on = v.launchers.Get(a.Launcher); a.on != nil {
		a.on.attempts = insert(a.on.attempts, a, attemptID)
	}
	j.hold(a.Need.Kind, a.Need.Slots)
}

func (v *View) attempt(id scheduler.AttemptID) (*Attempt, error) {
	if a := v.attempts.Get(id); a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("attempt %d is not live", id)
}

func (v *View) started(e scheduler.AttemptStarted) error {
	a, err := v.attempt(e.Attempt)
	if err != nil {
		return err
	}
	if a.State != Assigned {
		return fmt.Errorf("attempt %d started while it is %s", a.ID, a.State)
	}
	if a.Bundle.ID != e.Bundle || a.Job().ID() != e.Job || a.Group != e.Group || a.Launcher != e.Launcher {
		return fmt.Errorf("attempt %d started as group %d of bundle %d of %s on launcher %d, but was launched as group %d of bundle %d of %s on launcher %d",
			a.ID, e.Group, e.Bundle, e.Job, e.Launcher, a.Group, a.Bundle.ID, a.Job().ID(), a.Launcher)
	}
	if a.Speculative != e.Speculative { // a snapshot tells of a second whose first is gone as of a first
		for _, peer := range a.Bundle.attempts {
			if peer.run == a.run {
				peer.Speculative = e.Speculative
			}
		}
	}
	a.State, a.Since, a.PhaseSince, a.Phase = Running, e.At, e.At, scheduler.PhaseExecute
	if a.Job().Info.Stages[a.Need.Stage].Shuffles {
		a.Phase = scheduler.PhaseShuffle
	}
	return nil
}

func (v *View) phase(e scheduler.AttemptPhase) error {
	a, err := v.attempt(e.Attempt)
	if err != nil {
		return err
	}
	if a.State == Assigned {
		return fmt.Errorf("attempt %d enters phase %s before it started", a.ID, e.Phase)
	}
	if e.Phase != 0 { // a phase of a later version than this one counts as part of the one before
		a.Phase, a.PhaseSince = e.Phase, e.At
	}
	return nil
}

func (v *View) progress(e scheduler.AttemptProgress) error {
	a, err := v.attempt(e.Attempt)
	if err != nil {
		return err
	}
	a.Progress, a.Work = e.Progress, e.Work
	return nil
}

func (v *View) suspended(e scheduler.AttemptSuspended) error {
	a, err := v.attempt(e.Attempt)
	if err != nil {
		return err
	}
	if a.State != Running {
		return fmt.Errorf("attempt %d is suspended while it is %s", a.ID, a.State)
	}
	a.ran = a.Ran(e.At)
	a.State, a.Since, a.Leaving = Suspended, e.At, 0
	a.Job().hold(a.Need.Kind, -a.Need.Slots)
	return nil
}

func (v *View) resumed(e scheduler.AttemptResumed) error {
	a, err := v.attempt(e.Attempt)
	if err != nil {
		return err
	}
	if a.State != Suspended {
		return fmt.Errorf("attempt %d is resumed while it is %s", a.ID, a.State)
	}
	a.State, a.Since = Running, e.At
	a.Job().hold(a.Need.Kind, a.Need.Slots)
	return nil
}

func (v *View) attemptEnded(e scheduler.AttemptEnded) error {
	a, err := v.attempt(e.Attempt)
	if err != nil {
		return err
	}
	a.ran = a.Ran(e.At)
	if a.State != Suspended {
		a.Job().hold(a.Need.Kind, -a.Need.Slots)
	}
	v.drop(a)
	v.ended = append(v.ended, Ended{a, e})
	b := a.Bundle
	b.onceOnly()
	if a.turn != b.turn || b.State != Launched {
		return nil // of an earlier readiness, or of a bundle whose other attempt has finished
	}
	if e.Outcome == scheduler.Finished {
		a.run.left--
	}
	switch {
	case a.run.left == 0:
		b.move(Finished)
		b.Groups, b.Avoid = nil, nil
	case !slices.ContainsFunc(b.attempts, func(x *Attempt) bool { return x.turn == b.turn }):
		b.move(Waiting)
	}
	return nil
}

func (v *View) drop(a *Attempt) {
	v.attempts.Delete(a.ID)
	a.Job().live.remove(a)
	a.Bundle.attempts = slices.DeleteFunc(a.Bundle.attempts, func(x *Attempt) bool { return x == a })
	l := a.on
	if l == nil {
		return
	}
	i := slices.Index(l.attempts, a)
	l.attempts = slices.Delete(l.attempts, i, i+1)
	if len(l.attempts) == 0 && len(v.gone) > 0 && v.gone[l.ID] == l {
		delete(v.gone, l.ID)
	}
}

// onceOnly ends the offer to launch a bundle a second time.
func (b *Bundle) onceOnly() {
	if b.SpeculationOffered {
		b.Job.unindex(b)
		b.SpeculationOffered = false
	}
}

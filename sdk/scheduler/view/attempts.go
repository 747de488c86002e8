package view

import (
	"fmt"

	"github.com/hamadryad/hamadryad/internal/idmap"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// attempts holds the live attempts. Each is in byID, in its job's list, in its bundle's and on its
// launcher, or in none of them. Those that are not suspended hold slots of their jobs.
type attempts struct {
	byID  idmap.Map[scheduler.AttemptID, Attempt]
	ended []Ended // in the last Apply or Start
	// endedByID indexes ended; it is built at the first query.
	endedByID map[scheduler.AttemptID]*Ended
	// starting is set during a snapshot, which may list an attempt before its launcher, and a
	// finished attempt whose launcher is gone.
	starting bool
}

// Attempt returns a live attempt, or nil.
func (as *attempts) Attempt(id scheduler.AttemptID) *Attempt { return as.byID.Get(id) }

// Ended returns the attempts that ended in the last Apply or Start, in order.
func (as *attempts) Ended() []Ended { return as.ended }

// endedAttempt returns an attempt that ended in the last Apply or Start, or nil.
func (as *attempts) endedAttempt(id scheduler.AttemptID) *Ended {
	if as.endedByID == nil && len(as.ended) > 0 {
		as.endedByID = make(map[scheduler.AttemptID]*Ended, len(as.ended))
		for i := range as.ended {
			as.endedByID[as.ended[i].ID] = &as.ended[i]
		}
	}
	return as.endedByID[id]
}

// LiveOrEnded returns an attempt that is live, or ended in the last Apply or Start; else nil. Events
// that precede the end of an attempt in a round name attempts that are not live after it.
func (as *attempts) LiveOrEnded(id scheduler.AttemptID) *Attempt {
	if a := as.byID.Get(id); a != nil {
		return a
	}
	if e := as.endedAttempt(id); e != nil {
		return e.Attempt
	}
	return nil
}

func (as *attempts) forgetEnded() { as.ended, as.endedByID = as.ended[:0], nil }

// snapshotBegins is called before the events of a snapshot.
func (as *attempts) snapshotBegins() { as.starting = true }

// snapshotEnds is called after the last event of a snapshot: now each launcher must exist.
func (as *attempts) snapshotEnds(jobs []*Job, ls *launchers) error {
	as.starting = false
	for _, j := range jobs {
		for _, a := range j.Attempts() {
			if a.on != nil {
				continue
			}
			if a.on = ls.enter(a); a.on == nil {
				return fmt.Errorf("snapshot: attempt-%d of %s runs on launcher %d, which is not there", a.ID, j.ID(), a.Launcher)
			}
		}
	}
	return nil
}

// preempted marks the victims, and all attempts of the same launches.
func (as *attempts) preempted(p scheduler.Preempt) {
	for _, id := range p.Victims {
		a := as.byID.Get(id)
		if a == nil {
			continue // ended in the meantime
		}
		for _, peer := range a.Bundle.Attempts() {
			if peer.run == a.run {
				peer.Leaving, peer.suspending = p.For, p.Mode == scheduler.PreemptSuspend
				peer.Stopping = peer.Stopping || !peer.suspending
			}
		}
		a.Bundle.onceOnly()
	}
}

// goOn marks the attempts that will resume.
func (as *attempts) goOn(ids []scheduler.AttemptID) {
	for _, id := range ids {
		if a := as.byID.Get(id); a != nil && a.State == Suspended {
			a.counting(func() { a.Resuming = true })
		}
	}
}

// launched makes assigned attempts of a launchable bundle.
func (as *attempts) launched(b *Bundle, e scheduler.Outcome, ls *launchers) error {
	if !b.Launchable() {
		return fmt.Errorf("launch of %v of %s, which is %s", b.ID, b.Job.ID(), b.State)
	}
	if len(e.Attempts) != len(b.Groups) || len(e.Launch.Launchers) != len(b.Groups) {
		return fmt.Errorf("launch of %v of %s has %d attempts on %d launchers for %d groups",
			b.ID, b.Job.ID(), len(e.Attempts), len(e.Launch.Launchers), len(b.Groups))
	}
	for i, id := range e.Attempts {
		if as.byID.Get(id) != nil {
			return fmt.Errorf("attempt-%d exists already", id)
		}
		if l := e.Launch.Launchers[i]; ls.Launcher(l) == nil && !as.starting {
			return fmt.Errorf("launch of %v of %s on launcher %d, which is not there", b.ID, b.Job.ID(), l)
		}
	}
	turn, speculative := b.launch()
	members := make([]struct { // one allocation for all
		Attempt
		run run
	}, len(b.Groups))
	r := &members[0].run
	r.left = len(b.Groups)
	for i, id := range e.Attempts {
		a := &members[i].Attempt
		*a = Attempt{
			ID: id, Bundle: b, Group: i, Need: &b.Groups[i], Launcher: e.Launch.Launchers[i],
			Speculative: speculative, AssignedAt: e.At, Since: e.At, run: r, turn: turn,
		}
		as.byID.Set(a.ID, a)
		b.enter(a)
		if a.Ahead = e.Launch.Ahead; a.Ahead {
			b.Job.ahead = insert(b.Job.ahead, a, attemptID)
		} else {
			a.takeSlots(ls)
		}
	}
	return nil
}

// takeSlots adds an attempt to the lists and counts of those that hold slots.
func (a *Attempt) takeSlots(ls *launchers) {
	j := a.Job()
	j.live.add(a)
	a.on = ls.enter(a)
	j.held.add(a.Need.Kind, a.Need.Slots)
	if u := j.user; u != nil {
		u.Holds = u.Holds.Plus(a.usage())
	}
}

// tookSlots handles that an attempt is not held ahead any more.
func (as *attempts) tookSlots(e scheduler.AttemptTookSlots, ls *launchers) error {
	a, err := as.live(e.Attempt)
	if err != nil {
		return err
	}
	if !a.Ahead {
		return fmt.Errorf("attempt-%d takes slots and was not launched ahead", a.ID)
	}
	a.Ahead = false
	a.Job().ahead = remove(a.Job().ahead, a.ID, attemptID)
	a.takeSlots(ls)
	return nil
}

func (as *attempts) live(id scheduler.AttemptID) (*Attempt, error) {
	if a := as.byID.Get(id); a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("attempt-%d is not live", id)
}

func (as *attempts) attemptStarted(e scheduler.AttemptStarted) error {
	a, err := as.live(e.Attempt)
	if err != nil {
		return err
	}
	if a.State != Assigned {
		return fmt.Errorf("attempt-%d started while it is %s", a.ID, a.State)
	}
	if a.Bundle.ID != e.Bundle || a.Job().ID() != e.Job || a.Group != e.Group || a.Launcher != e.Launcher {
		return fmt.Errorf("attempt-%d started as group %d of %v of %s on launcher %d, but was launched as group %d of %v of %s on launcher %d",
			a.ID, e.Group, e.Bundle, e.Job, e.Launcher, a.Group, a.Bundle.ID, a.Job().ID(), a.Launcher)
	}
	if a.Speculative != e.Speculative { // a snapshot lists a second attempt without its first as a first
		for _, peer := range a.Bundle.Attempts() {
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

func (as *attempts) phase(e scheduler.AttemptPhase) error {
	a, err := as.live(e.Attempt)
	if err != nil {
		return err
	}
	if a.State == Assigned {
		return fmt.Errorf("attempt-%d enters phase %s before it started", a.ID, e.Phase)
	}
	if e.Phase != 0 { // an unknown phase of a later version counts as part of the previous one
		a.Phase, a.PhaseSince = e.Phase, e.At
	}
	return nil
}

func (as *attempts) progress(e scheduler.AttemptProgress) error {
	a, err := as.live(e.Attempt)
	if err != nil {
		return err
	}
	a.Progress, a.Work = e.Progress, e.Work
	return nil
}

func (as *attempts) suspended(e scheduler.AttemptSuspended) error {
	a, err := as.live(e.Attempt)
	if err != nil {
		return err
	}
	if a.State != Running {
		return fmt.Errorf("attempt-%d is suspended while it is %s", a.ID, a.State)
	}
	a.ran = a.Ran(e.At)
	a.counting(func() { a.State, a.Since, a.Leaving, a.suspending = Suspended, e.At, 0, false })
	a.Job().held.add(a.Need.Kind, -a.Need.Slots)
	return nil
}

func (as *attempts) suspensionFailed(e scheduler.SuspensionFailed) error {
	a, err := as.live(e.Attempt)
	if err != nil {
		return err
	}
	if a.State != Running {
		return fmt.Errorf("the suspension of attempt-%d failed while it is %s", a.ID, a.State)
	}
	a.Leaving, a.suspending = 0, false
	return nil
}

func (as *attempts) resumed(e scheduler.AttemptResumed) error {
	a, err := as.live(e.Attempt)
	if err != nil {
		return err
	}
	if a.State != Suspended {
		return fmt.Errorf("attempt-%d is resumed while it is %s", a.ID, a.State)
	}
	a.counting(func() { a.State, a.Since, a.Resuming = Running, e.At, false })
	a.Bundle.onceOnly()
	a.Job().held.add(a.Need.Kind, a.Need.Slots)
	return nil
}

func (as *attempts) attemptStopping(e scheduler.AttemptStopping) error {
	a, err := as.live(e.Attempt)
	if err != nil {
		return err
	}
	a.Stopping, a.suspending = true, false
	a.Leaving = e.For
	return nil
}

// giveSlots is the reverse of takeSlots.
func (a *Attempt) giveSlots(ls *launchers) {
	j := a.Job()
	if a.State != Suspended {
		j.held.add(a.Need.Kind, -a.Need.Slots)
	}
	if u := j.user; u != nil {
		u.Holds = u.Holds.Minus(a.usage())
	}
	j.live.remove(a)
	if a.on != nil {
		ls.leave(a, a.on)
	}
}

func (as *attempts) attemptEnded(e scheduler.AttemptEnded, ls *launchers) error {
	a, err := as.live(e.Attempt)
	if err != nil {
		return err
	}
	b, j := a.Bundle, a.Job()
	a.ran = a.Ran(e.At)
	as.byID.Delete(a.ID)
	if a.Ahead {
		j.ahead = remove(j.ahead, a.ID, attemptID)
	} else {
		a.giveSlots(ls)
	}
	as.ended = append(as.ended, Ended{a, e})
	b.attemptEnded(a, e.Outcome)
	a.stopOthers(e.Outcome)
	return nil
}

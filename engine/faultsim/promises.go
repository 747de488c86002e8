package faultsim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// promises are the guarantees of a site to its policies, compared with the messages that one policy
// gets: which attempts may be preempted and suspended, that offers do not exceed the free slots,
// and how long slots are kept for a beneficiary. They know the site's rules and the policy's view,
// and never ask the core.
type promises struct {
	rules core.Settings
	site  *site
	kept  map[beneficiary]scheduler.Time // until when slots may be kept, because of preemptions
}

// beneficiary is the work that slots are kept for: a bundle or, with bundle 0, any bundle of a job.
type beneficiary struct {
	job    scheduler.JobID
	bundle scheduler.BundleID
}

// outcome compares a decision's outcome, which the round reports, with the policy's view at the
// time of the decision.
func (p *promises) outcome(v *view.View, o scheduler.Outcome, r *scheduler.Round) error {
	if !o.Accepted && o.Kind == scheduler.DecisionLaunch {
		return untoldPlace(v, o, r.Events)
	}
	if !o.Accepted {
		return untold(v, o, r.Events)
	}
	if o.Kind != scheduler.DecisionPreempt {
		return nil
	}
	x := o.Preempt
	for _, id := range x.Victims {
		a := v.Attempt(id)
		if a == nil {
			continue // it came since
		}
		suspended := slices.ContainsFunc(r.Events, func(e scheduler.Event) bool {
			switch e := e.(type) {
			case scheduler.AttemptSuspended:
				return e.Attempt == id
			case scheduler.SuspensionFailed:
				return e.Attempt == id
			}
			return false
		})
		switch {
		case a.ProtectedUntil() > o.At:
			return fmt.Errorf("attempt %d is preempted at %d and protected until %d", id, o.At, a.ProtectedUntil())
		case a.Leaving != 0 && !suspended:
			return fmt.Errorf("attempt %d is preempted, and leaves for %s already", id, a.Leaving)
		case x.Mode == scheduler.PreemptSuspend && forbidsSuspend(a.Bundle, r.Events, o.At):
			return fmt.Errorf("attempt %d is suspended, which its stage forbids", id)
		}
	}
	until := o.At.Add(p.site.reserveMaxAt(o.At))
	if x.Mode == scheduler.PreemptSoft {
		until = until.Add(x.Grace)
	}
	who := beneficiary{x.For, x.Bundle}
	p.kept[who] = max(p.kept[who], until)
	return nil
}

// forbidsSuspend reports whether an attempt that runs in the bundle at that time has a stage that
// forbids suspension. A member that has finished holds nothing, so it protects no other.
func forbidsSuspend(b *view.Bundle, news []scheduler.Event, at scheduler.Time) bool {
	return slices.ContainsFunc(b.Attempts(), func(a *view.Attempt) bool {
		ended := slices.ContainsFunc(news, func(e scheduler.Event) bool {
			end, is := e.(scheduler.AttemptEnded)
			return is && end.Attempt == a.ID && end.At < at
		})
		return !ended && b.Job.Info.Stages[a.Need.Stage].NoSuspend
	})
}

// round compares the policy's view after a round with the rules.
func (p *promises) round(v *view.View) error {
	p.reservations(v)
	for _, l := range v.Launchers() {
		if err := p.offer(v, l); err != nil {
			return fmt.Errorf("launcher %d: %w", l.ID, err)
		}
		if err := p.ahead(v, l); err != nil {
			return fmt.Errorf("launcher %d: %w", l.ID, err)
		}
	}
	for _, j := range v.Jobs() {
		for _, a := range j.Ahead() {
			if l := v.Launcher(a.Launcher); l != nil && !a.Stopping && a.Leaving == 0 && (l.Closed() || l.Offer.Suspended > 0 || len(l.Offer.Reserved) > 0) {
				return fmt.Errorf("attempt %d is held ahead at launcher %d, which is closed, or where something is kept or suspended", a.ID, l.ID)
			}
		}
	}
	return nil
}

// ahead compares what may be launched ahead on a launcher with the attempts there.
func (p *promises) ahead(v *view.View, l *view.Launcher) error {
	for _, x := range l.Offer.Ahead {
		runs, held := 0, 0
		for _, a := range l.Attempts() {
			if a.Job().ID() == x.Job && a.Need.Stage == x.Stage && a.State != view.Suspended {
				runs++
			}
		}
		for _, a := range v.Job(x.Job).Ahead() {
			if a.Launcher == l.ID && a.Need.Stage == x.Stage {
				held++
			}
		}
		if held+x.Count > runs*p.rules.AheadMax && x.Count > 0 || held > runs*p.rules.AheadMax && x.PerLaunch > 0 || l.Closed() || l.Offer.Suspended > 0 || len(l.Offer.Reserved) > 0 {
			return fmt.Errorf("%d of stage %d of %s may be launched ahead, and %d are held, of which %d run", x.Count, x.Stage, x.Job, held, runs)
		}
	}
	return nil
}

// reservations notes reservations that the policy did not request: the core takes back what readers
// that started early hold from the work that they wait for. It makes such a reservation when it stops
// the readers, which are of the same job. The policy learns of it when a reader has ended. It may be
// for the same bundle as one that the policy requested.
func (p *promises) reservations(v *view.View) {
	longest := v.Now().Add(p.site.longest())
	reclaimed := map[scheduler.JobID]bool{}
	for _, e := range v.Ended() {
		if e.Event.Outcome == scheduler.Preempted {
			reclaimed[e.Job().ID()] = true
		}
	}
	present := map[beneficiary]bool{}
	for _, l := range v.Launchers() {
		for _, r := range l.Offer.Reserved {
			who := beneficiary{r.Job, r.Bundle}
			present[who] = true
			if _, known := p.kept[who]; !known || reclaimed[r.Job] {
				p.kept[who] = max(p.kept[who], longest)
			}
		}
	}
	maps.DeleteFunc(p.kept, func(who beneficiary, until scheduler.Time) bool { return !present[who] && until < v.Now() })
}

func (p *promises) offer(v *view.View, l *view.Launcher) error {
	now, o := v.Now(), &l.Offer
	if limits := p.rules.Limits(); o.Suspended > 0 && !limits.MaySuspend(o.Suspended, o.Held, l.Memory, l.Swap) {
		return fmt.Errorf("%d attempts with %d bytes are suspended, which is more than may be: %d, and %d %% of the memory", o.Suspended, o.Held, limits.SuspendedMax, limits.SuspendedPercent)
	}
	slots, memory, parked := map[scheduler.SlotKind]int{}, o.Memory+o.ForResumeMemory, int64(0)
	resources := o.Resources.Plus(o.ForResumeResources)
	for _, s := range slices.Concat(o.Free, o.ForResume) {
		slots[s.Kind] += s.Count
	}
	for _, r := range o.Reserved {
		slots[r.Kind] += r.Slots
		memory += r.Memory
		resources = resources.Plus(r.Resources)
		until := p.kept[beneficiary{r.Job, r.Bundle}]
		if b := v.Bundle(r.Bundle); b != nil {
			until = max(until, b.ReservedUntil)
		}
		if now > until {
			return fmt.Errorf("%d %s slots are kept for %s and %v, which had to end at %d", r.Slots, r.Kind, r.Job, r.Bundle, until)
		}
	}
	for _, a := range l.Attempts() {
		if a.State == view.Suspended && !a.Resuming {
			parked += a.Need.Memory
			resources = resources.Plus(a.Need.Resources.Minus(a.Need.Resources.FreedBySuspension(l.SuspensionFrees)))
			continue
		}
		slots[a.Need.Kind] += a.Need.Slots
		memory += a.Need.Memory
		resources = resources.Plus(a.Need.Resources)
	}
	if !l.Resources.Covers(resources) {
		return fmt.Errorf("the resources %v are free, kept or held, and there are %v", resources, l.Resources)
	}
	for kind, n := range slots {
		if n > l.Total(kind) {
			return fmt.Errorf("%d %s slots are free, kept or held, and there are %d", n, kind, l.Total(kind))
		}
	}
	if memory += max(parked-l.Swap, 0); memory > l.Memory {
		return fmt.Errorf("%d bytes are free, kept or held, and there are %d", memory, l.Memory)
	}
	return nil
}

// untold returns an error if a resumption or a preemption is refused for the state of its attempts, and no event told
// that state: neither one that the policy had at its decision, nor one of the round that precedes the outcome.
func untold(v *view.View, o scheduler.Outcome, events []scheduler.Event) error {
	ids := o.Preempt.Victims
	switch {
	case o.Kind == scheduler.DecisionResume && o.Reason == scheduler.NotSuspended:
		ids = []scheduler.AttemptID{o.Resume.Attempt}
	case o.Kind != scheduler.DecisionPreempt || o.Reason != scheduler.NotRunning:
		return nil
	}
	for _, id := range ids {
		if a := v.Attempt(id); a == nil || changed(a.Bundle, o, events) || !mayChange(a, &o) {
			return nil
		}
	}
	return fmt.Errorf("%s of attempts %d is refused, and no event told why: %s", o.Kind, ids, o.Detail)
}

// untoldPlace returns an error if a launch is refused for its launchers, and no event told why: neither
// one that the policy had at its decision, nor any of the round that concerns the bundle or a launcher.
func untoldPlace(v *view.View, o scheduler.Outcome, events []scheduler.Event) error {
	b := v.Bundle(o.Launch.Bundle)
	if o.Reason != scheduler.LauncherUnavailable || b == nil || changed(b, o, events) {
		return nil
	}
	for _, id := range o.Launch.Launchers {
		l := v.Launcher(id)
		runs := slices.ContainsFunc(b.Attempts(), func(a *view.Attempt) bool { return a.Launcher == id })
		if l == nil || l.Closed() || slices.Contains(b.Avoid, id) || runs {
			return nil
		}
	}
	for _, e := range events {
		if offers(e) == b.ID || slices.Contains(o.Launch.Launchers, moves(e)) {
			return nil
		}
	}
	return fmt.Errorf("a launch of %v on launchers %d is refused, and no event told why: %s", b.ID, o.Launch.Launchers, o.Detail)
}

// offers returns the bundle whose offer an event changes; 0: it changes none.
func offers(e scheduler.Event) scheduler.BundleID {
	switch e := e.(type) {
	case scheduler.BundleReady:
		return e.Bundle
	case scheduler.BundleWithdrawn:
		return e.Bundle
	case scheduler.SpeculationOffered:
		return e.Bundle
	case scheduler.SpeculationWithdrawn:
		return e.Bundle
	}
	return 0
}

// moves returns the launcher that an event opens or closes; 0: it does neither.
func moves(e scheduler.Event) scheduler.LauncherID {
	switch e := e.(type) {
	case scheduler.LauncherLost:
		return e.Launcher
	case scheduler.LauncherDraining:
		return e.Launcher
	case scheduler.LauncherExcluded:
		return e.Launcher
	}
	return 0
}

// mayChange reports whether an attempt may be resumed or preempted, as far as the policy knew.
func mayChange(a *view.Attempt, o *scheduler.Outcome) bool {
	if o.Kind == scheduler.DecisionResume {
		return a.State == view.Suspended && !a.Resuming && !a.Stopping
	}
	return !slices.ContainsFunc(a.Bundle.Attempts(), func(x *view.Attempt) bool {
		return x.Stopping || x.Resuming || x.Leaving != 0 || o.Preempt.Mode == scheduler.PreemptSuspend && x.State != view.Running
	})
}

// changed reports whether an event before an outcome is about an attempt of a bundle.
func changed(b *view.Bundle, o scheduler.Outcome, events []scheduler.Event) bool {
	for _, e := range events {
		if x, is := e.(scheduler.Outcome); is && x.Round == o.Round && x.Kind == o.Kind && x.Index == o.Index {
			return false
		}
		if slices.ContainsFunc(b.Attempts(), func(a *view.Attempt) bool { return slices.Contains(attemptsOf(e), a.ID) }) {
			return true
		}
	}
	return false
}

// attemptsOf returns the attempts that an event is about.
func attemptsOf(e scheduler.Event) []scheduler.AttemptID {
	switch e := e.(type) {
	case scheduler.Outcome:
		return slices.Concat(e.Attempts, e.Preempt.Victims)
	case scheduler.AttemptStarted:
		return []scheduler.AttemptID{e.Attempt}
	case scheduler.AttemptStopping:
		return []scheduler.AttemptID{e.Attempt}
	case scheduler.AttemptEnded:
		return []scheduler.AttemptID{e.Attempt}
	case scheduler.AttemptSuspended:
		return []scheduler.AttemptID{e.Attempt}
	case scheduler.SuspensionFailed:
		return []scheduler.AttemptID{e.Attempt}
	case scheduler.AttemptResumed:
		return []scheduler.AttemptID{e.Attempt}
	}
	return nil
}

package policy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// victimsMax bounds the launches that PreemptFew tries for one bundle.
const victimsMax = 1000

// Victims returns the attempts of a job that may be preempted now, the newest first. Left out are those that were
// preempted a short while ago, that are being stopped, that do not run, and, for PreemptSuspend, those that forbid it.
// Of a gang all attempts are listed, or none.
func (p *Pass[O, S]) Victims(j *view.Job, mode scheduler.PreemptMode) []*view.Attempt {
	var all []*view.Attempt
	for _, a := range j.Attempts() {
		if refused, _ := p.spared(a, mode); refused == scheduler.NotRefused {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b *view.Attempt) int {
		return cmp.Or(cmp.Compare(b.AssignedAt, a.AssignedAt), cmp.Compare(b.ID, a.ID))
	})
	return all
}

// spared returns why an attempt may not be preempted, or NotRefused. It asks the launch as a whole, as the manager does.
func (p *Pass[O, S]) spared(a *view.Attempt, mode scheduler.PreemptMode) (scheduler.RefusalReason, string) {
	if a.ProtectedUntil() > p.Now() {
		return scheduler.Protected, fmt.Sprintf("attempt %d is protected until %d", a.ID, a.ProtectedUntil())
	}
	suspended := mode == scheduler.PreemptKill && a.State == view.Suspended
	for _, x := range launchOf(a) {
		switch {
		case p.driver.leaves(x), x.Leaving != 0, x.Stopping, x.Resuming:
			return scheduler.NotRunning, fmt.Sprintf("attempt %d is being stopped or resumed", x.ID)
		case x.State != view.Running && (!suspended || x.State != view.Suspended):
			return scheduler.NotRunning, fmt.Sprintf("attempt %d does not run", x.ID)
		}
	}
	if mode == scheduler.PreemptSuspend && slices.ContainsFunc(launchOf(a), p.cannotSuspend) {
		return scheduler.Unsupported, fmt.Sprintf("the launcher of attempt %d can't suspend", a.ID)
	}
	if mode == scheduler.PreemptSuspend && a.Bundle.NoSuspend() {
		return scheduler.Unsupported, fmt.Sprintf("the program of attempt %d forbids to suspend it", a.ID)
	}
	return scheduler.NotRefused, ""
}

// cannotSuspend reports whether an attempt's launcher can't suspend.
func (p *Pass[O, S]) cannotSuspend(a *view.Attempt) bool {
	l := p.driver.view.Launcher(a.Launcher)
	return l == nil || l.NoSuspend
}

// leaves reports whether an attempt is being stopped.
func (d *driver[O, S]) leaves(a *view.Attempt) bool {
	return d.leaving.Has(a.ID) || slices.ContainsFunc(d.stopping, func(x leaver) bool { return x.Attempt == a.ID })
}

// launchOf returns the live attempts of an attempt's launch.
func launchOf(a *view.Attempt) []*view.Attempt {
	var all []*view.Attempt
	for _, x := range a.Bundle.Attempts() {
		if x.Speculative == a.Speculative {
			all = append(all, x)
		}
	}
	return all
}

// unit is what is preempted at once.
type unit []*view.Attempt

// Live implements preemption.Victim.
func (u unit) Live() []*view.Attempt { return u }

// Preempt stops all these victims for a ready bundle: it kills or suspends them, or tells them to end first. Of a gang
// one attempt stands for all. What they free is reserved for the bundle, and a later pass launches it there. Offers of
// second attempts for the victims end.
//
// It returns true, or false and why, as the manager would refuse it, and then decides nothing. A soft kill has the
// grace that the site allows, scheduler.Limits.GraceMax.
func (p *Pass[O, S]) Preempt(b *view.Bundle, mode scheduler.PreemptMode, victims ...*view.Attempt) (scheduler.RefusalReason, bool) {
	if refused := p.beneficiary(b); refused != scheduler.NotRefused || len(victims) == 0 {
		return cmp.Or(refused, scheduler.WrongShape), false
	}
	units := units(victims)
	for _, u := range units {
		if refused, _ := p.spared(u[0], mode); refused != scheduler.NotRefused {
			return refused, false
		}
	}
	v := &p.driver.view
	mark := v.Capacity.Mark()
	var together []*view.Attempt
	for _, u := range units {
		together = append(together, u...)
	}
	if mode == scheduler.PreemptSuspend && !v.Capacity.MaySuspend(together, p.driver.env.Limits) {
		return scheduler.LimitReached, false
	}
	s := p.search(b, mode, len(units))
	for _, a := range together {
		if s.Usable(a) {
			v.Capacity.Release(a, s.Suspend)
		}
	}
	refused := scheduler.NothingGained
	if !b.WithinUserLimit() {
		refused = scheduler.UserAtLimit
	}
	where, fits := v.Fit(b)
	v.Capacity.Undo(mark)
	if !fits {
		return refused, false
	}
	p.preempt(b, mode, units, where)
	return scheduler.NotRefused, true
}

// PreemptFew is Preempt with as few of the candidates as let the bundle fit, taken in their order. It returns false,
// and decides nothing, if the bundle does not fit even so, or fits without any: launch it then.
func (p *Pass[O, S]) PreemptFew(b *view.Bundle, mode scheduler.PreemptMode, candidates ...*view.Attempt) bool {
	if p.beneficiary(b) != scheduler.NotRefused {
		return false
	}
	s, all, next := p.search(b, mode, victimsMax), units(candidates), 0
	mark := p.driver.view.Capacity.Mark()
	if _, fits := p.driver.view.Fit(b); fits {
		p.driver.view.Capacity.Undo(mark)
		return false
	}
	victims, where := preemption.FindAmong(s, func() (unit, bool) {
		for ; next < len(all); next++ {
			if refused, _ := p.spared(all[next][0], mode); refused == scheduler.NotRefused && s.Useful(all[next]) {
				next++
				return all[next-1], true
			}
		}
		return nil, false
	}, func(unit) {})
	p.driver.view.Capacity.Undo(mark)
	if where == nil {
		return false
	}
	p.preempt(b, mode, victims, where)
	return true
}

// beneficiary returns why a bundle can't be preempted for.
func (p *Pass[O, S]) beneficiary(b *view.Bundle) scheduler.RefusalReason {
	if b.State != view.Ready || b.LeftOut() {
		return scheduler.NotReady
	}
	return scheduler.NotRefused
}

func (p *Pass[O, S]) search(b *view.Bundle, mode scheduler.PreemptMode, most int) preemption.Search {
	return preemption.Search{
		View: &p.driver.view, Bundle: b, Suspend: mode == scheduler.PreemptSuspend, Limits: p.driver.env.Limits, Most: most,
	}
}

// units returns the launches of attempts, each once, in order of the attempts.
func units(of []*view.Attempt) (all []unit) {
	seen := map[scheduler.AttemptID]bool{}
	for _, a := range of {
		if seen[a.ID] {
			continue
		}
		u := unit(launchOf(a))
		for _, x := range u {
			seen[x.ID] = true
		}
		all = append(all, u)
	}
	return all
}

// preempt decides. The bundle is left out of the pass from then on, and holds the free slots that it will use.
func (p *Pass[O, S]) preempt(b *view.Bundle, mode scheduler.PreemptMode, victims []unit, where []scheduler.LauncherID) {
	v := &p.driver.view
	d := scheduler.Preempt{Mode: mode, For: b.Job.ID(), Bundle: b.ID, Placement: where}
	if mode == scheduler.PreemptSoft {
		d.Grace = p.driver.env.Limits.GraceMax
	}
	p.decisions.Preempt = append(p.decisions.Preempt, preemption.Stop(d, victims))
	for _, u := range victims {
		p.withdrawSecond(u[0].Bundle)
		for _, a := range u {
			p.stop(a.ID, b.Job.ID())
			if mode == scheduler.PreemptSuspend {
				v.Capacity.CountSuspending(a)
			}
		}
	}
	b.LeaveOut()
	for i, id := range where {
		if l := v.Launcher(id); l != nil {
			v.Capacity.TakeFor(l, b, &b.Groups[i]) // where there is room already; what victims hold is not there yet
		}
	}
	p.driver.setReason(b.Job, reason{why: scheduler.WaitPreempting, detail: fmt.Sprintf("%d attempts are being stopped for it", len(victims))})
}

// stop notes that this pass stops an attempt.
func (p *Pass[O, S]) stop(id scheduler.AttemptID, job scheduler.JobID) {
	p.driver.stopping = append(p.driver.stopping, leaver{Attempt: id, For: job})
}

// withdrawSecond takes back the second attempt of a bundle that is preempted: the manager ends its offer.
func (p *Pass[O, S]) withdrawSecond(b *view.Bundle) {
	p.decisions.Speculate = slices.DeleteFunc(p.decisions.Speculate, func(x scheduler.Speculate) bool { return x.Bundle == b.ID })
	if !b.SpeculationOffered {
		return
	}
	p.decisions.Launch = slices.DeleteFunc(p.decisions.Launch, func(l scheduler.Launch) bool { return l.Bundle == b.ID })
	b.LeaveOut()
}

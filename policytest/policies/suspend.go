package policies

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Suspend runs the most urgent work and suspends less urgent work for it. It resumes an attempt on
// its launcher once slots are free, and suspends less urgent work there for it in turn. An attempt
// is suspended at most once.
func Suspend() scheduler.TaskScheduler {
	p := &base{about: scheduler.Description{Name: "suspend", Version: "1", Abilities: scheduler.AbilityResume}}
	p.decide = func(r scheduler.Round, d *scheduler.Decisions) {
		jobs := p.byPriority()
		unfit := p.fill(jobs, d)
		rests := p.resume(jobs, d)
		if unfit == nil && rests == nil {
			return
		}
		d.WakeAt = p.nextTick()
		if !woken(r) {
			return
		}
		if unfit != nil && !p.expecting(unfit.Job.ID()) {
			if victims, where := p.victimsFor(unfit, p.fresh(jobs, unfit.Job), true); where != nil {
				d.Preempt = append(d.Preempt, scheduler.Preempt{
					Victims: victims, Mode: scheduler.PreemptSuspend, For: unfit.Job.ID(), Bundle: unfit.ID, Placement: where,
				})
				return
			}
		}
		if rests != nil && !p.expecting(rests.Job().ID()) {
			if victims := p.victimsToGoOn(rests, p.fresh(jobs, rests.Job())); victims != nil {
				d.Preempt = append(d.Preempt, scheduler.Preempt{
					Victims: victims, Mode: scheduler.PreemptSuspend, For: rests.Job().ID(), Bundle: rests.Bundle.ID,
				})
			}
		}
	}
	return p
}

// fresh are the takeable attempts of less urgent jobs that were never suspended before, and may be.
func (p *base) fresh(jobs []*view.Job, than *view.Job) []*view.Attempt {
	less := slices.DeleteFunc(slices.Clone(jobs), func(j *view.Job) bool { return j.Info.Priority >= than.Info.Priority })
	return slices.DeleteFunc(p.takeable(less), func(a *view.Attempt) bool {
		return a.Ran(p.Now()) > p.Now().Sub(a.Since) || a.Bundle.NoSuspend()
	})
}

// resume resumes suspended attempts where slots are reserved for them or free, after the round's
// launches. It returns the first, of jobs in their order, that can't be resumed.
func (p *base) resume(jobs []*view.Job, d *scheduler.Decisions) (rests *view.Attempt) {
	for _, j := range jobs {
		for _, a := range j.Attempts() {
			switch {
			case a.State != view.Suspended:
			case p.Capacity.TakeForResume(a):
				d.Resume = append(d.Resume, scheduler.Resume{Attempt: a.ID})
			case rests == nil:
				rests = a
			}
		}
	}
	return rests
}

// victimsToGoOn adds victims on a suspended attempt's launcher, in their order, until it could be
// resumed. It leaves the view unchanged.
func (p *base) victimsToGoOn(rests *view.Attempt, candidates []*view.Attempt) []scheduler.AttemptID {
	mark := p.Capacity.Mark()
	defer p.Capacity.Undo(mark)
	var victims []scheduler.AttemptID
	for _, a := range candidates {
		if a.Launcher == rests.Launcher && p.Capacity.MaySuspend([]*view.Attempt{a}, p.limits) {
			p.Capacity.Release(a, true)
			victims = append(victims, a.ID)
			if p.Capacity.TakeForResume(rests) {
				return victims
			}
		}
	}
	return nil
}

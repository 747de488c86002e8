package policies

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// Suspend runs the most urgent work and stops less urgent work for it, which it
// resumes where it was stopped once slots are free. An attempt is stopped once
// at most.
func Suspend() scheduler.TaskScheduler {
	p := &base{about: scheduler.Description{Name: "suspend", Version: "1", Abilities: scheduler.AbilityResume}}
	p.decide = func(r scheduler.Round, d *scheduler.Decisions) {
		jobs := p.byPriority()
		unfit := p.fill(jobs, d)
		p.resume(d)
		if unfit == nil {
			return
		}
		d.WakeAt = p.nextTick()
		if !woken(r) || p.expecting(unfit.Job.ID()) {
			return
		}
		less := slices.DeleteFunc(jobs, func(j *view.Job) bool { return j.Info.Priority >= unfit.Job.Info.Priority })
		candidates := slices.DeleteFunc(p.takeable(less), func(a *view.Attempt) bool { return a.Ran(p.Now()) > p.Now().Sub(a.Since) })
		if victims, where := p.victimsFor(unfit, candidates, false); where != nil {
			d.Preempt = append(d.Preempt, scheduler.Preempt{
				Victims: victims, Mode: scheduler.PreemptSuspend, For: unfit.Job.ID(), Bundle: unfit.ID, Placement: where,
			})
		}
	}
	return p
}

// resume lets suspended attempts go on where their slots are free, with what the
// launches of the round have left.
func (p *base) resume(d *scheduler.Decisions) {
	for _, j := range p.Jobs() {
		for _, a := range j.Attempts() {
			l := p.Launcher(a.Launcher)
			need := scheduler.Group{Kind: a.Need.Kind, Slots: a.Need.Slots} // its memory it still has
			if a.State == view.Suspended && l != nil && p.Take(l, &need) {
				d.Resume = append(d.Resume, scheduler.Resume{Attempt: a.ID})
			}
		}
	}
}

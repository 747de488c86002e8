package policy

import (
	"iter"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/preemption"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

type leaver = preemption.Leaver

// Pass is one round, in which a policy decides. It is valid until the function that got it returns.
type Pass[O, S any] struct {
	Look[O, S]
	events      []scheduler.Event
	endedBefore int // ends of attempts that the state counts already
	changed     bool
	decisions   scheduler.Decisions
	wake        scheduler.Time
	delayed     map[scheduler.JobID]bool    // jobs that LaunchNear keeps waiting
	reserved    map[scheduler.BundleID]bool // see reservations; nil: not counted yet
	order       []*record                   // of the jobs that the pass asked for
	next        *view.Job                   // see NextSlots; nil: not said
}

// Filter chooses bundles. The zero value chooses all.
type Filter struct {
	Job  *view.Job          // of this job alone
	Kind scheduler.SlotKind // whose first group needs such slots; "": any
	Gang bool               // of several groups
}

func (f *Filter) has(b *view.Bundle) bool {
	return (f.Kind == "" || b.Groups[0].Kind == f.Kind) && (!f.Gang || len(b.Groups) > 1)
}

// Events returns what happened since the pass before. In Policy.Start they are those since the checkpoint, or all.
func (p *Pass[O, S]) Events() []scheduler.Event { return p.events }

// Ended returns the attempts that ended in Events, with their jobs.
func (p *Pass[O, S]) Ended() []view.Ended { return p.driver.view.Ended()[p.endedBefore:] }

// NextSlots says that a job gets the slots that become free next, before all others that wait. With
// Policy.Ahead, its bundles may then be launched ahead. Else only a job that waits alone has that.
func (p *Pass[O, S]) NextSlots(j *view.Job) { p.next = j }

// OptionsChanged reports whether new settings took effect in this pass.
func (p *Pass[O, S]) OptionsChanged() bool { return p.changed }

// Ready walks bundles that may be launched, in order of job, then id. It leaves out those that this pass launched or
// preempted for. Bundles that run and are offered for a second attempt are in Seconds.
func (p *Pass[O, S]) Ready(f Filter) iter.Seq[*view.Bundle] {
	return func(yield func(*view.Bundle) bool) { p.each(f, yield) }
}

// each calls yield with the bundles of Ready. It keeps no reference to yield, so that a loop over Ready allocates
// nothing.
func (p *Pass[O, S]) each(f Filter, yield func(*view.Bundle) bool) {
	if f.Job != nil {
		p.eachOf(f.Job, f, yield)
		return
	}
	for _, j := range p.driver.view.Jobs() {
		if !p.eachOf(j, f, yield) {
			return
		}
	}
}

// eachOf is each for one job. It reports whether to go on.
func (p *Pass[O, S]) eachOf(j *view.Job, f Filter, yield func(*view.Bundle) bool) bool {
	p.ask(j)
	walk := j.Launchable(f.Kind, 0)
	if f.Gang {
		walk = j.LaunchableGangs()
	}
	for b := walk.Next(); b != nil; b = walk.Next() {
		if !b.SpeculationOffered && f.has(b) && !yield(b) {
			return false
		}
	}
	return true
}

// Seconds walks bundles that run slowly or are suspended, and may be launched a second time. The first attempt that
// commits wins. A preemption for such a bundle is refused.
func (p *Pass[O, S]) Seconds(f Filter) iter.Seq[*view.Bundle] {
	jobs := p.driver.view.Jobs()
	if f.Job != nil {
		jobs = []*view.Job{f.Job}
	}
	return func(yield func(*view.Bundle) bool) {
		for _, j := range jobs {
			p.ask(j)
			for b := range j.Seconds() {
				if f.has(b) && !yield(b) {
					return
				}
			}
		}
	}
}

// ask notes that it is a job's turn.
func (p *Pass[O, S]) ask(j *view.Job) {
	if d := p.driver; !d.policy.Reports {
		if r := d.record(j); r.asked != d.passes {
			r.asked = d.passes
			p.order = append(p.order, r)
		}
	}
}

// Launch starts a bundle where it fits, near its input if it can, or on the given launchers, one for each group. It
// takes the slots. It returns false, and decides nothing, if the bundle does not fit, may not be launched, or was
// launched by this pass already.
func (p *Pass[O, S]) Launch(b *view.Bundle, on ...scheduler.LauncherID) bool {
	if !b.Launchable() || b.LeftOut() {
		return false
	}
	where, fits := on, false
	if len(on) == 0 {
		where, fits = p.driver.view.Fit(b)
	} else {
		fits = p.takeOn(b, on)
	}
	if fits {
		p.launch(b, where)
	}
	return fits
}

// takeOn takes what a bundle needs on given launchers, or nothing.
func (p *Pass[O, S]) takeOn(b *view.Bundle, on []scheduler.LauncherID) bool {
	v := &p.driver.view
	if len(on) != len(b.Groups) {
		return false
	}
	mark := v.Capacity.Mark()
	for i, id := range on {
		l := v.Launcher(id)
		if l == nil || l.Closed() || slices.Contains(b.Avoid, id) || !v.Capacity.TakeFor(l, b, &b.Groups[i]) {
			v.Capacity.Undo(mark)
			return false
		}
	}
	return true
}

// launch decides to launch a bundle whose slots are taken.
func (p *Pass[O, S]) launch(b *view.Bundle, where []scheduler.LauncherID) {
	p.decisions.Launch = append(p.decisions.Launch, p.driver.view.Launch(b, where))
}

// Resume lets a suspended attempt go on, with the rest of its launch. It needs Policy.Resumes. It returns false, and
// decides nothing, if there is too little room, or the attempt is not suspended.
func (p *Pass[O, S]) Resume(a *view.Attempt) bool {
	if !p.driver.policy.Resumes || !p.driver.view.Capacity.TakeForResume(a) {
		return false
	}
	p.decisions.Resume = append(p.decisions.Resume, scheduler.Resume{Attempt: a.ID})
	return true
}

// WakeAt asks for a pass at a time even if nothing happens before. The earliest of several times counts, and a time
// that is not in the future does not. Each pass asks anew.
func (p *Pass[O, S]) WakeAt(t scheduler.Time) { p.wake = p.driver.view.Sooner(p.wake, t) }

// Decisions are those of the pass so far, to be read, and to be changed by a policy that decides what has no method
// here. What is added is not checked, and Coming does not know it before the manager's answer.
func (p *Pass[O, S]) Decisions() *scheduler.Decisions { return &p.decisions }

// Post has a note logged. Policy.Note gets it in a later pass, and again when the log is replayed.
func (p *Pass[O, S]) Post(n scheduler.Note) { p.decisions.Notes = append(p.decisions.Notes, n) }

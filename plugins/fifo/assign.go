package fifo

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// assignment is the work of one round. It receives the waiting jobs in queue order.
type assignment struct {
	view     *view.View
	options  options
	queue    []*view.Job
	launches []scheduler.Launch

	// The slots being collected, which the view no longer has.
	kept    gangs.Holdback
	keptFor scheduler.JobID

	job    *view.Job
	start  int // len(launches) before the job
	reason scheduler.WaitReason
	unfit  *view.Bundle // the job's first bundle that did not fit
}

// next launches what it can of the next job, and leaves in reason why the rest waits.
func (a *assignment) next(j *view.Job) {
	a.job = j
	a.reason, a.unfit, a.start = scheduler.WaitNone, nil, len(a.launches)
	a.kept.ResetTries()
	if j.LaunchableCount() == 0 {
		return
	}
	kinds := a.open(j)
	if len(kinds) == 0 {
		a.reason = a.turn()
		return
	}
	if j.GangCount() > 0 {
		for b := range j.LaunchableGangs().All() {
			a.try(b)
		}
	}
	if !a.options.Locality.Blind() {
		a.near(j, kinds)
	}
	a.placeRest(j, kinds)
	switch {
	case len(a.launches)-a.start == j.LaunchableCount():
	case a.unfit != nil:
		a.reason = a.unfit.Unfit()
	default:
		a.reason = a.turn()
	}
}

func (a *assignment) turn() scheduler.WaitReason {
	if a.job == a.queue[0] {
		return scheduler.WaitNoCapacity
	}
	return scheduler.WaitTurn
}

// open lists the kinds of slots that the job uses and may have now, in order of stage, each once. Mostly it has none.
func (a *assignment) open(j *view.Job) (kinds []scheduler.SlotKind) {
	reserved := a.view.Capacity.Reserved(j.ID())
	for i := range j.Info.Stages {
		if kind := j.Info.Stages[i].Kind; (reserved || a.view.Capacity.FreeSlots(kind) > 0) && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// near assigns work to launchers that hold its input, then to racks that do.
func (a *assignment) near(j *view.Job, kinds []scheduler.SlotKind) {
	for _, kind := range kinds {
		if first := j.Launchable(kind, 0); first.Next() == nil {
			continue // the job has no ready work there
		}
		p := locality.Pass{View: a.view, Job: j, Kind: kind, LeaveFull: true, Seconds: true, May: func(b *view.Bundle) bool { return b.Groups[0].Kind == kind }, Launch: a.launch}
		p.Full = func() bool { return !p.Open() }
		p.Near(scheduler.RackLocal)
	}
}

// placeRest places the job's other bundles while there are slots.
func (a *assignment) placeRest(j *view.Job, kinds []scheduler.SlotKind) {
	for _, kind := range kinds {
		for b := range j.Launchable(kind, 0).All() {
			if len(b.Groups) == 1 && !a.try(b) && !slices.Contains(a.open(j), kind) {
				break
			}
		}
	}
}

// try launches a bundle wherever it fits. If it does not fit, it may be time to collect slots
// for it.
func (a *assignment) try(b *view.Bundle) bool {
	if where, ok := a.options.Locality.Fit(a.view, b); ok {
		a.launch(b, where)
		return true
	}
	if a.unfit == nil {
		a.unfit = b
	}
	if len(a.launches) == a.start && a.kept.Collect(a.view, b, a.options.CollectAfter) {
		a.keptFor = b.Job.ID()
	}
	return false
}

func (a *assignment) launch(b *view.Bundle, where []scheduler.LauncherID) {
	a.launches = append(a.launches, a.view.Launch(b, where))
}

// detail says in numbers why the job waits.
func (a *assignment) detail() string {
	switch {
	case a.reason == scheduler.WaitNone:
		return ""
	case a.unfit != nil:
		return gangs.Describe(a.view, a.unfit)
	case a.keptFor != 0:
		return fmt.Sprintf("number %d in the queue; free slots are collected for %s", placeIn(a.queue, a.job), a.keptFor)
	}
	return fmt.Sprintf("number %d in the queue; no slot of its kind is free", placeIn(a.queue, a.job))
}

package fifo

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// scanMax bounds how many bundles near a launcher, or a rack, are tried in vain
// before its remaining room is left to the pass that takes anything.
const scanMax = 32

// collectTriesMax bounds for how many bundles of one job a round asks whether an
// empty cluster would hold them, which costs a walk over all launchers.
const collectTriesMax = 4

// assignment is the work of one round. The jobs that wait are given to it in the
// order of the queue.
type assignment struct {
	view         *view.View
	queue        []*view.Job
	collectAfter time.Duration
	blind        bool // input counts for nothing
	launches     []scheduler.Launch

	// What is being collected: the view has it no more.
	kept    gangs.Holdback
	keptFor scheduler.JobID

	job    *view.Job
	start  int // len(launches) before the job
	tries  int // bundles of the job for which collect was asked
	reason scheduler.WaitReason
	unfit  *view.Bundle // the job's first bundle that did not fit
}

// next launches what it can of the next job and leaves in reason why the rest waits.
func (a *assignment) next(j *view.Job) {
	a.job = j
	a.reason, a.unfit, a.start, a.tries = scheduler.WaitNone, nil, len(a.launches), 0
	if j.ReadyCount() == 0 {
		return
	}
	kinds := a.open(j)
	if len(kinds) == 0 {
		a.reason = a.turn()
		return
	}
	if j.GangCount() > 0 {
		a.gangs(j)
	}
	if !a.blind {
		a.near(j, kinds)
	}
	a.anywhere(j, kinds)
	switch {
	case len(a.launches)-a.start == j.ReadyCount():
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

// open lists the kinds of slot that the job uses and may have now.
func (a *assignment) open(j *view.Job) []scheduler.SlotKind {
	return slices.DeleteFunc(j.Kinds(), func(kind scheduler.SlotKind) bool {
		return a.view.FreeSlots(kind) == 0 && !a.view.Reserved(j.ID())
	})
}

func (a *assignment) gangs(j *view.Job) {
	for b := range a.view.GangsOf(j) {
		a.try(b)
	}
}

// near gives work to launchers that hold its input, then to racks that do.
func (a *assignment) near(j *view.Job, kinds []scheduler.SlotKind) {
	for _, kind := range kinds {
		if first := a.view.Walk(j, kind, 0); first.Next() == nil {
			continue // nothing of it is ready
		}
		launchers, racks := a.view.NearRoom(j, kind)
		for _, l := range launchers {
			a.fitAll(a.view.ReadyAt(j, l.Host), kind,
				func() bool { slots, _ := a.view.Room(l, j.ID(), kind); return slots > 0 },
				func(b *view.Bundle) ([]scheduler.LauncherID, bool) { return a.view.FitOn(l, b) })
		}
		for _, rack := range racks {
			a.fitAll(a.view.ReadyIn(j, rack), kind,
				func() bool { return a.view.FreeSlots(kind) > 0 || a.view.Reserved(j.ID()) },
				func(b *view.Bundle) ([]scheduler.LauncherID, bool) { return a.view.FitNear(b, scheduler.RackLocal) })
		}
	}
}

// fitAll launches those of the bundles that fit, while there is room at all.
func (a *assignment) fitAll(bundles iter.Seq[*view.Bundle], kind scheduler.SlotKind,
	room func() bool, fit func(*view.Bundle) ([]scheduler.LauncherID, bool),
) {
	misses := 0
	for b := range bundles {
		if !room() {
			return
		}
		if b.Groups[0].Kind == kind {
			if where, ok := fit(b); ok {
				a.launches = append(a.launches, a.view.Launch(b, where))
				continue
			}
		}
		if misses++; misses == scanMax {
			return
		}
	}
}

// anywhere places the rest of the job's bundles, as long as there are slots.
func (a *assignment) anywhere(j *view.Job, kinds []scheduler.SlotKind) {
	for _, kind := range kinds {
		for b := range a.view.ReadyOfKind(j, kind, 0) {
			if len(b.Groups) == 1 && !a.try(b) && !slices.Contains(a.open(j), kind) {
				break
			}
		}
	}
}

// try launches a bundle wherever it fits. When it does not, it may be time to
// collect slots for it.
func (a *assignment) try(b *view.Bundle) bool {
	fit := a.view.Fit
	if a.blind {
		fit = a.view.FitAnywhere
	}
	if where, ok := fit(b); ok {
		a.launches = append(a.launches, a.view.Launch(b, where))
		return true
	}
	if a.unfit == nil {
		a.unfit = b
	}
	a.collect(b)
	return false
}

// collect keeps slots for a bundle that has been passed over long enough.
func (a *assignment) collect(b *view.Bundle) {
	if a.kept.Has(b) || len(a.launches) > a.start || a.tries == collectTriesMax || !gangs.Overdue(a.view, b, a.collectAfter) {
		return
	}
	if a.tries++; !a.view.FitEver(b) {
		return
	}
	a.keptFor = b.Job.ID()
	a.kept.HoldFor(a.view, b, a.collectAfter)
}

// detail says in numbers why the job waits.
func (a *assignment) detail() string {
	switch {
	case a.reason == scheduler.WaitNone:
		return ""
	case a.unfit != nil:
		return describe(a.view, a.unfit)
	case a.keptFor != 0:
		return fmt.Sprintf("number %d in the queue; free slots are collected for %s", placeIn(a.queue, a.job), a.keptFor)
	}
	return fmt.Sprintf("number %d in the queue; no slot of its kind is free", placeIn(a.queue, a.job))
}

package fifo

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
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
	launches     []scheduler.Launch

	// What is being collected: nothing more starts that needs these kinds, or
	// nothing at all.
	held    []scheduler.SlotKind
	heldAll bool
	heldFor scheduler.JobID

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
	if !a.heldAll {
		a.near(j, kinds)
		a.anywhere(j)
	}
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
	if a.heldAll {
		return nil
	}
	var kinds []scheduler.SlotKind
	for _, s := range j.Info.Stages {
		if slices.Contains(kinds, s.Kind) || slices.Contains(a.held, s.Kind) {
			continue
		}
		if a.view.FreeSlots(s.Kind) > 0 || a.view.Reserved(j.ID()) {
			kinds = append(kinds, s.Kind)
		}
	}
	return kinds
}

func (a *assignment) gangs(j *view.Job) {
	for b := range a.view.GangsOf(j) {
		if !a.try(b) && a.heldAll {
			return
		}
	}
}

// near gives work to launchers that hold its input, then to racks that do.
func (a *assignment) near(j *view.Job, kinds []scheduler.SlotKind) {
	for _, kind := range kinds {
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
func (a *assignment) anywhere(j *view.Job) {
	for b := range a.view.ReadyOf(j) {
		if len(b.Groups) > 1 {
			continue
		}
		if !a.try(b) && len(a.open(j)) == 0 {
			return
		}
	}
}

// try launches a bundle wherever it fits. When it does not, it may be time to
// collect slots for it.
func (a *assignment) try(b *view.Bundle) bool {
	for i := range b.Groups {
		if slices.Contains(a.held, b.Groups[i].Kind) {
			return false
		}
	}
	if where, ok := a.view.Fit(b); ok {
		a.launches = append(a.launches, a.view.Launch(b, where))
		return true
	}
	if a.unfit == nil {
		a.unfit = b
	}
	a.collect(b)
	return false
}

// collect holds back what stands behind a bundle that has been passed over long
// enough.
func (a *assignment) collect(b *view.Bundle) {
	if a.collectAfter == 0 || b.Twice || len(a.launches) > a.start || a.tries == collectTriesMax {
		return
	}
	if a.view.Now().Sub(passedSince(b)) < a.collectAfter {
		return
	}
	if a.tries++; !a.view.FitEver(b) {
		return
	}
	a.heldFor = b.Job.ID()
	a.heldAll = true // unless slots of a kind are what is short
	for _, need := range needs(b) {
		if a.view.FreeSlots(need.Kind) < need.Count {
			a.heldAll = false
		}
		a.held = append(a.held, need.Kind)
	}
}

// passedSince is when a bundle began to be passed over: since it is ready, or
// since its job, which then was not passed over, last got a slot. It is read off
// live attempts only, so that a policy that was restarted finds the same.
func passedSince(b *view.Bundle) scheduler.Time {
	live := b.Job.Attempts()
	if len(live) == 0 {
		return b.Since
	}
	return max(b.Since, live[len(live)-1].AssignedAt)
}

// needs adds up the slots that a bundle needs of each kind, in order of kind.
func needs(b *view.Bundle) []scheduler.SlotCount {
	var all []scheduler.SlotCount
	for _, g := range b.Groups {
		i := slices.IndexFunc(all, func(c scheduler.SlotCount) bool { return c.Kind == g.Kind })
		if i < 0 {
			i = len(all)
			all = append(all, scheduler.SlotCount{Kind: g.Kind})
		}
		all[i].Count += g.Slots
	}
	slices.SortFunc(all, func(x, y scheduler.SlotCount) int {
		if x.Kind < y.Kind {
			return -1
		}
		return 1
	})
	return all
}

// detail says in numbers why the job waits.
func (a *assignment) detail() string {
	switch {
	case a.reason == scheduler.WaitNone:
		return ""
	case a.unfit != nil:
		return describe(a.view, a.unfit)
	case a.heldFor != 0:
		return fmt.Sprintf("number %d in the queue; free slots are collected for %s", placeIn(a.queue, a.job), a.heldFor)
	}
	return fmt.Sprintf("number %d in the queue; no slot of its kind is free", placeIn(a.queue, a.job))
}

package fair

import (
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// collectTriesMax bounds for how many bundles a round asks whether an empty
// cluster would hold them, which costs a walk over all launchers.
const collectTriesMax = 4

// collecting is the holding back of slots for one bundle, usually a gang, that was
// passed over for too long by work that fits more easily.
type collecting struct {
	kinds map[scheduler.SlotKind]bool // of which nothing is given away
	all   bool                        // nothing is at all: it lacks memory, or slots where they are
	tries int
}

// holds says whether slots of a kind are kept.
func (c *collecting) holds(kind scheduler.SlotKind) bool { return c.all || c.kinds[kind] }

// collected launches the bundle that slots are collected for, or goes on
// collecting. It starts at the latest when what runs has ended.
func (a *assignment) collected() {
	if a.memory.Collect == 0 {
		return
	}
	b := a.view.Bundle(a.memory.Collect)
	if b == nil || !b.Launchable() || b.Twice || !a.jobs[b.Job.ID()].runnable {
		a.stopCollecting()
		return
	}
	j := a.jobs[b.Job.ID()]
	if a.overMax(j, b) || a.options.collectAfter == 0 {
		a.stopCollecting()
		return
	}
	if where, ok := a.view.Fit(b); ok {
		a.launch(j, Pick{Bundle: b, Where: where}, "")
		a.stopCollecting()
		return
	}
	if !a.view.FitEver(b, a.busy.byOthers(&a.view)...) {
		a.stopCollecting()
		return
	}
	a.hold(b)
}

func (a *assignment) stopCollecting() {
	a.memory.Collect = 0
	a.stale = true
}

// collect begins to collect slots for a bundle, if it is time and nothing is
// collected yet.
func (a *assignment) collect(b *view.Bundle) {
	after := a.options.collectAfter
	if after == 0 || a.memory.Collect != 0 || b.Twice || a.collecting.tries == collectTriesMax {
		return
	}
	if a.view.Now().Sub(passedSince(b)) < after {
		return
	}
	a.collecting.tries++
	if a.view.FitEver(b, a.busy.byOthers(&a.view)...) {
		a.memory.Collect = b.ID
		a.stale = true
		a.hold(b)
	}
}

// hold keeps the kinds of which a bundle lacks slots; everything, when slots are
// not what it lacks.
func (a *assignment) hold(b *view.Bundle) {
	a.collecting.kinds = map[scheduler.SlotKind]bool{}
	a.collecting.all = true
	for _, n := range needs(b) {
		a.collecting.kinds[n.Kind] = true
		if a.view.FreeSlots(n.Kind) < n.Count {
			a.collecting.all = false
		}
	}
}

// passedSince is when a bundle began to be passed over: since it is ready, or
// since its job last got a slot. It is read off live attempts only, so that a
// policy that was restarted finds the same.
func passedSince(b *view.Bundle) scheduler.Time {
	live := b.Job.Attempts()
	if len(live) == 0 {
		return b.Since
	}
	return max(b.Since, live[len(live)-1].AssignedAt)
}

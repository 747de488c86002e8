package fair

import (
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/gangs"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// collectTriesMax bounds for how many bundles a round asks whether an empty
// cluster would hold them, which costs a walk over all launchers.
const collectTriesMax = 4

// collecting is the holding back of slots for one bundle, usually a gang, that was
// passed over for too long by work that fits more easily.
type collecting struct {
	kept  gangs.Kept
	tries int
}

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
	a.collecting.kept.For(&a.view, b)
}

func (a *assignment) stopCollecting() {
	a.memory.Collect = 0
	a.stale = true
}

// collect begins to collect slots for a bundle, if it is time and nothing is
// collected yet.
func (a *assignment) collect(b *view.Bundle) {
	if a.memory.Collect != 0 || a.collecting.tries == collectTriesMax || !gangs.Overdue(&a.view, b, a.options.collectAfter) {
		return
	}
	a.collecting.tries++
	if a.view.FitEver(b, a.busy.byOthers(&a.view)...) {
		a.memory.Collect = b.ID
		a.stale = true
		a.collecting.kept.For(&a.view, b)
	}
}

package placement

import (
	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// resumeHoldback launches the bundle for which slots are held back, or continues to hold them.
// The bundle starts at the latest when all running work has ended.
func (a *assignment) resumeHoldback() {
	if a.Collect == 0 {
		return
	}
	b := a.View.Bundle(a.Collect)
	if b == nil || !b.Launchable() || b.SpeculationOffered || !a.Jobs[b.Job.ID()].Runnable {
		a.stopHoldback()
		return
	}
	j := a.Jobs[b.Job.ID()]
	if a.overMax(j, b) || a.Config.CollectAfter == 0 || !b.WithinUserLimit() {
		a.stopHoldback()
		return
	}
	if where, ok := a.View.Fit(b); ok {
		a.launch(j, Pick{Bundle: b, Where: where}, "")
		a.stopHoldback()
		return
	}
	others := a.busy.byOthers(a.View)
	if _, fits := a.View.FitIfEmpty(b, others...); !fits {
		a.stopHoldback()
		return
	}
	a.kept.HoldFor(a.View, b, a.Config.CollectAfter, others...)
}

func (a *assignment) stopHoldback() {
	a.Collect = 0
	a.Changed = true
}

// collect begins to hold back slots for a bundle, if it is time and none are held back yet.
func (a *assignment) collect(j *shares.Job, b *view.Bundle) {
	if a.Collect == 0 && !a.overMax(j, b) && a.kept.Collect(a.View, b, a.Config.CollectAfter, a.busy.byOthers(a.View)...) {
		a.Collect = b.ID
		a.Changed = true
	}
}

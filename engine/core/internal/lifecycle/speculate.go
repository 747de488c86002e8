package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/internal/prefetch"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Speculation offers straggling bundles for speculative attempts.
type Speculation struct{ base }

// watchStragglers sets the timer that checks for stragglers while anything runs.
func (sp *Speculation) watchStragglers() {
	if sp.step.Set.Speculation {
		sp.step.Watch(step.TimerSpeculate, sp.step.Set.SpeculationEvery, 0)
	}
}

// Speculate offers speculative attempts for stragglers.
func (sp *Speculation) Speculate() {
	sp.step.WatchDue(step.TimerSpeculate)
	if sp.state.Attempts.Len() == 0 {
		return
	}
	sp.watchStragglers()
	for j := range sp.state.Jobs.All() {
		if len(j.Attempts()) > 0 && j.Phase() == state.JobRunning && !j.Spec.NoSpeculation {
			sp.speculateOn(j)
		}
	}
}

// speculateOn examines all live attempts of a job, in any order, and sorts the stragglers. There
// may be very many, so it reads only the start time of most.
func (sp *Speculation) speculateOn(j *state.Job) {
	var candidates []*state.Attempt
	marks := make([]time.Duration, len(j.Stages)) // computed once
	for i, a := range j.Attempts() {
		if next := prefetch.Next(j.Attempts(), i); next != nil {
			state.PrefetchAttempts(next)
		}
		if (a.Phase() == phase.Running && a.Running(sp.step.Now) > sp.stragglerMark(j, a.Stage, marks) || sp.suspendedLong(a)) && a.MaySpeculate() {
			candidates = append(candidates, a)
		}
	}
	allowed := sp.step.Set.Limits().SecondsMax(len(j.Attempts()))
	// The longest running first.
	slices.SortFunc(candidates, func(x, y *state.Attempt) int {
		return cmp.Or(cmp.Compare(x.Started(), y.Started()), cmp.Compare(x.ID, y.ID))
	})
	for _, a := range candidates {
		if j.SpeculativeCount() >= allowed {
			return
		}
		sp.OfferSpeculation(a.BundleAttempt.Bundle)
	}
}

// suspendedLong reports whether an attempt has waited so long for its resumption that a second
// attempt has to race it.
func (sp *Speculation) suspendedLong(a *state.Attempt) bool {
	after := sp.step.Set.SpeculationSuspended
	return after > 0 && a.WaitsForResume() && sp.step.Now.Sub(a.Since()) >= after
}

// stragglerMark is the running time above which an attempt of a stage straggles: far longer than
// others of the stage ran. A stage with too few finished attempts has no stragglers.
func (sp *Speculation) stragglerMark(j *state.Job, stage int32, marks []time.Duration) time.Duration {
	if marks[stage] == 0 {
		marks[stage] = step.DurationMax
		if median, yes := j.Stages[stage].Median(sp.step.Set.SpeculationAfterPercent); yes {
			marks[stage] = max(sp.step.Set.SpeculationMin, median/100*time.Duration(sp.step.Set.SpeculationPercent))
		}
	}
	return marks[stage]
}

// Ask offers a second attempt because the policy asks for it, or refuses to.
func (sp *Speculation) Ask(d scheduler.Speculate) (scheduler.RefusalReason, string) {
	b := sp.state.Bundles.Get(d.Bundle)
	if b == nil || b.Last() {
		return scheduler.UnknownID, fmt.Sprintf("%v is not there", d.Bundle)
	}
	if reason, why := sp.maySpeculate(b); reason != scheduler.NotRefused {
		return reason, fmt.Sprintf("%v of %s %s", b.ID(), b.Job.ID, why)
	}
	sp.OfferSpeculation(b)
	return scheduler.NotRefused, ""
}

// maySpeculate returns why no second attempt of a bundle is offered to a policy that asks.
func (sp *Speculation) maySpeculate(b *state.Bundle) (scheduler.RefusalReason, string) {
	j := b.Job
	if b.Phase() != state.BundleRunning {
		return scheduler.NotRunning, "is " + b.Phase().String()
	}
	if b.Width() > 1 {
		return scheduler.Unsupported, "has several groups, and those have no second attempts"
	}
	if j.Spec.NoSpeculation || sp.step.Set.SpeculationSharePercent == 0 {
		return scheduler.Unsupported, "may have no second attempt: its job or the site (speculationSharePercent) allows none"
	}
	if len(b.Attempts()) > 1 || b.Attempts()[0].Speculative() || b.SpeculationOffered() != 0 {
		return scheduler.LimitReached, "has a second attempt, or an offer of one"
	}
	if most := sp.step.Set.Limits().SecondsMax(len(j.Attempts())); j.SpeculativeCount() >= most {
		return scheduler.LimitReached, fmt.Sprintf("can have none: its job has %d, which is the most (speculationSharePercent)", most)
	}
	r := b.Attempts()[0]
	a := r.Attempts[0]
	switch {
	case r.Granted():
		return scheduler.Protected, "commits"
	case r.Stopped() != 0 || j.Phase() != state.JobRunning:
		return scheduler.NothingGained, "is being stopped"
	case a.Phase() == phase.Assigned:
		return scheduler.NotRunning, "has not started"
	case a.Phase() != phase.Running && !a.WaitsForResume() || !a.MaySpeculate():
		return scheduler.NothingGained, "is being suspended or resumed, or waits for lost input"
	}
	return scheduler.NotRefused, ""
}

// OfferSpeculation offers a running bundle for a speculative attempt.
func (sp *Speculation) OfferSpeculation(b *state.Bundle) {
	sp.events.OfferSpeculation(b)
}

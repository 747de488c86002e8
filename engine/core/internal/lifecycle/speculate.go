package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/internal/prefetch"
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
	allowed := max(len(j.Attempts())*sp.step.Set.SpeculationSharePercent/100, 1)
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

// OfferSpeculation offers a running bundle for a speculative attempt.
func (sp *Speculation) OfferSpeculation(b *state.Bundle) {
	b.SetSpeculationOffered(sp.step.Now)
	sp.events.Notify(b, sp.events.SpeculationEvent(b))
	sp.state.Changes.MarkJob(b.Job)
}

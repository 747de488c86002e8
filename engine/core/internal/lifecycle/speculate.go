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

// watchStragglers sets the timer that looks for stragglers while anything runs.
func (as *Attempts) watchStragglers() {
	if as.step.Set.Speculation {
		as.step.Watch(step.TimerSpeculate, as.step.Set.SpeculationEvery, 0)
	}
}

// Speculate offers second attempts for stragglers.
func (as *Attempts) Speculate() {
	as.step.WatchDue(step.TimerSpeculate)
	if as.state.Attempts.Len() == 0 {
		return
	}
	as.watchStragglers()
	for j := range as.state.Jobs.All() {
		if len(j.Attempts()) > 0 && j.Phase() == state.JobRunning && !j.Spec.NoSpeculation {
			as.speculateOn(j)
		}
	}
}

// speculateOn looks at all live attempts of a job, in any order, and sorts those that
// straggle. There may be very many, so of most it looks at nothing else.
func (as *Attempts) speculateOn(j *state.Job) {
	var candidates []*state.Attempt
	marks := make([]time.Duration, len(j.Stages)) // computed once
	for i, a := range j.Attempts() {
		if next := prefetch.Next(j.Attempts(), i); next != nil {
			state.PrefetchAttempts(next)
		}
		if (a.Phase() == phase.Running && a.Running(as.step.Now) > as.stragglerMark(j, a.Stage, marks) || as.suspendedLong(a)) && a.MaySpeculate() {
			candidates = append(candidates, a)
		}
	}
	allowed := max(len(j.Attempts())*as.step.Set.SpeculationSharePercent/100, 1)
	// Those that run longest first.
	slices.SortFunc(candidates, func(x, y *state.Attempt) int {
		return cmp.Or(cmp.Compare(x.Started(), y.Started()), cmp.Compare(x.ID, y.ID))
	})
	for _, a := range candidates {
		if j.SpeculativeCount() >= allowed {
			return
		}
		as.OfferSpeculation(a.BundleAttempt.Bundle)
	}
}

// suspendedLong says whether an attempt waits to be resumed for so long that a second one is to
// race it.
func (as *Attempts) suspendedLong(a *state.Attempt) bool {
	after := as.step.Set.SpeculationSuspended
	return after > 0 && a.WaitsForResume() && as.step.Now.Sub(a.Since()) >= after
}

// stragglerMark is the running time above which an attempt of a stage straggles: far
// longer than others of the stage ran. Of a stage of which too few have finished none does.
func (as *Attempts) stragglerMark(j *state.Job, stage int32, marks []time.Duration) time.Duration {
	if marks[stage] == 0 {
		marks[stage] = step.DurationMax
		if median, yes := j.Stages[stage].Median(as.step.Set.SpeculationAfterPercent); yes {
			marks[stage] = max(as.step.Set.SpeculationMin, median/100*time.Duration(as.step.Set.SpeculationPercent))
		}
	}
	return marks[stage]
}

// OfferSpeculation offers a running bundle for a second attempt.
func (as *Attempts) OfferSpeculation(b *state.Bundle) {
	b.SetSpeculationOffered(as.step.Now)
	as.events.Notify(b, as.events.SpeculationEvent(b))
	as.state.Changes.MarkJob(b.Job)
}

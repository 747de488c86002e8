package rounds

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/internal/lifecycle"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A policy stalls when nothing at all runs, work is ready that the cluster could
// hold, and it neither launches any of it nor says why. It may be alive, answer
// every round and still never start anything, so it counts as broken: without
// that, a bad policy would hang every job.

// stalled returns a job that waits for no reason; nil when there is none.
func (ds *Rounds) stalled() *state.Job {
	if ds.policy.Current() == nil || ds.state.Attempts.Len() > 0 {
		return nil
	}
	for j := range ds.state.Jobs.All() {
		if j.Phase() == state.JobRunning && j.ReadyCount() > 0 && j.Unplaceable == 0 && j.PolicyWait.Reason == scheduler.WaitNone && ds.someFits(j) {
			return j
		}
	}
	return nil
}

// someFits says whether one of a job's longest ready bundles has room now. What
// is drained, or kept for others, is not the policy's to give.
func (ds *Rounds) someFits(j *state.Job) bool {
	tried := 0
	for b := range j.AllReady() {
		if ds.bundles.Fits(b, nil, nil) {
			return true
		}
		if tried++; tried == lifecycle.BundlesTried {
			break
		}
	}
	return false
}

// WatchStall sets a timer when the policy may be stalling.
func (ds *Rounds) WatchStall() {
	if ds.step.Set.PolicyStallAfter > 0 && !ds.StallWatched && ds.stalled() != nil {
		ds.StallWatched = true
		ds.step.SetTimer(ds.step.Set.PolicyStallAfter, step.TimerStall, ds.ids.Attempt)
	}
}

// StallDue ends a policy that has started nothing since the timer was set.
func (ds *Rounds) StallDue(attempts uint64) {
	ds.StallWatched = false
	j := ds.stalled()
	if j == nil || attempts != ds.ids.Attempt {
		return
	}
	number := ds.policy.Current().Number
	reason := fmt.Sprintf("it stalls: for %v nothing ran, %d bundles of %v were ready and fit, and it launched none and gave no reason",
		ds.step.Set.PolicyStallAfter, j.ReadyCount(), j.ID)
	ds.step.Emit(step.PolicyGone{Generation: number, Breach: reason, Stalled: true})
	ds.Failed(number, reason)
}

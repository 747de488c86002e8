package rounds

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/internal/lifecycle"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A policy stalls when nothing at all runs, work is ready that the cluster could hold, and the
// policy neither launches any of it nor gives a reason. It may be alive, answer every round and
// still never start anything. So it counts as broken: otherwise a bad policy would hang every job.

// stalled returns a job that waits for no reason; nil: none.
func (rs *Rounds) stalled() *state.Job {
	if rs.policy.Current() == nil || rs.state.Attempts.Len() > 0 {
		return nil
	}
	for j := range rs.state.Jobs.All() {
		if j.Phase() == state.JobRunning && j.Ready.Len() > 0 && j.Waits.Unplaceable() == 0 && j.Waits.Policy().Reason == scheduler.WaitNone && rs.someFits(j) {
			return j
		}
	}
	return nil
}

// someFits reports whether one of a job's longest ready bundles has room now. Draining launchers,
// and slots that preemptions freed for others, are not available to the policy. What the policy
// itself reserved for other bundles is.
func (rs *Rounds) someFits(j *state.Job) bool {
	tried := 0
	for b := range j.Ready.All() {
		if rs.bundles.Fits(b, nil, rs.resources.Reservations.PlannedForOthers(b.ID())) {
			return true
		}
		if tried++; tried == lifecycle.BundlesTried {
			break
		}
	}
	return false
}

// WatchStall sets a timer when the policy may be stalling.
func (rs *Rounds) WatchStall() {
	if after := rs.step.Set.PolicyStallAfter; after > 0 && !rs.step.Watches(step.TimerStall) && rs.stalled() != nil {
		rs.step.Watch(step.TimerStall, after, uint64(rs.ids.LastAttempt()))
	}
}

// StallDue ends a policy that has started nothing since the timer was set.
func (rs *Rounds) StallDue(last scheduler.AttemptID) {
	rs.step.WatchDue(step.TimerStall)
	j := rs.stalled()
	if j == nil || last != rs.ids.LastAttempt() {
		return
	}
	number := rs.policy.Current().Number
	reason := fmt.Sprintf("it stalls: for %v nothing ran, %d bundles of %v were ready and fit, and it launched none and gave no reason",
		rs.step.Set.PolicyStallAfter, j.Ready.Len(), j.ID)
	rs.step.Emit(step.PolicyGone{Generation: number, Breach: reason, Stalled: true})
	rs.Failed(number, reason)
}

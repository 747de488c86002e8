package rounds

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/lifecycle"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A policy stalls when it leaves a job without attempts although the job's work is ready and fits.
// It may be alive, answer every round and still never start the job. When nothing else runs either
// it counts as broken: otherwise a bad policy would hang every job.
//
// A job is checked once policyStallAfter has passed since its last attempt ended, or since its work
// became ready. A check looks at room that the policy has known, unchanged, for half of that time:
// on a busy cluster some slot is free at each moment, and that is no fault of the policy.

const (
	// stallExcused is how many times longer a job may wait for a reason that should pass.
	stallExcused = 10
	// stallBundlesMax bounds the bundles that one check tries to place.
	stallBundlesMax = 256
)

// excusesForEver reports whether a reason may last as long as people want: an administrator or a
// limit keeps the job waiting, or the policy does on purpose and says why.
func excusesForEver(r scheduler.WaitReason) bool {
	switch r {
	case scheduler.WaitBudget, scheduler.WaitAtLimit, scheduler.WaitHeld, scheduler.WaitNoCapacity, scheduler.WaitExcluded, scheduler.WaitAdmission:
		return true
	}
	return false
}

// WatchStall sets the timer of the next check, while there are jobs.
func (rs *Rounds) WatchStall() {
	if after := rs.step.Set.PolicyStallAfter; after > 0 && rs.state.Jobs.Len() > 0 {
		rs.step.Watch(step.TimerStall, after, 0)
	}
}

// StallDue checks for a job that the policy leaves without attempts. It sets the timer of the next
// check at the time when the next job may be late.
func (rs *Rounds) StallDue() {
	rs.step.WatchDue(step.TimerStall)
	after := rs.step.Set.PolicyStallAfter
	if after <= 0 || rs.policy.Current() == nil {
		return
	}
	late, next := rs.lateJob(after)
	if late != nil {
		next = min(next, rs.stalls(late, after))
	}
	rs.step.Watch(step.TimerStall, next, 0)
}

// lateJob returns a job that the policy leaves without attempts for too long, nil if there is none,
// and how long after now to check again.
func (rs *Rounds) lateJob(after time.Duration) (late *state.Job, next time.Duration) {
	next = after
	tried := 0
	for j := range rs.state.Jobs.All() {
		bound := rs.mayWait(j, after)
		if bound == 0 {
			continue
		}
		if wait := waitsSince(j).Add(bound).Sub(rs.step.Now); wait > 0 {
			next = min(next, wait)
			continue
		}
		if tried >= stallBundlesMax {
			break
		}
		fits, n := rs.leftOut(j, bound)
		if fits {
			return j, next
		}
		tried += n
	}
	return nil, next
}

// mayWait returns how long a job may be without attempts; 0: for ever.
func (rs *Rounds) mayWait(j *state.Job, after time.Duration) time.Duration {
	reason := j.Waits.Policy().Reason
	switch {
	case j.Phase() != state.JobRunning, j.Ready.Len() == 0, len(j.Attempts()) > 0, j.Waits.Unplaceable() != 0, excusesForEver(reason):
		return 0
	case reason == scheduler.WaitNone:
		return after
	}
	return min(after, step.DurationMax/stallExcused) * stallExcused
}

// waitsSince returns since when a job has had ready work and no attempts.
func waitsSince(j *state.Job) scheduler.Time {
	for b := range j.Ready.All() {
		return max(b.Since(), j.Waits.IdleSince())
	}
	return 0
}

// leftOut reports whether one of a job's longest ready bundles has waited for the bound, and fits in
// room that the policy has known for half of that, also below the limit of the job's user. What the
// policy itself reserved for other bundles is part of that room. Draining launchers, and slots that
// preemptions freed for others, are not.
func (rs *Rounds) leftOut(j *state.Job, bound time.Duration) (fits bool, tried int) {
	user := j.User()
	if user.Limited() && rs.step.Now.Sub(user.RoomSince()) < bound/2 {
		return false, 0
	}
	for b := range j.Ready.All() {
		if tried == lifecycle.BundlesTried {
			break
		}
		tried++
		fits = b.WithinUserLimit(scheduler.Usage{}) && rs.step.Now.Sub(b.Since()) >= bound &&
			rs.resources.Launchers.Fits(b, nil, rs.resources.Reservations.PlannedForOthers(b.ID()), func(l *resources.Launcher) bool {
				return b.Unavailable(l) == "" && rs.step.Now.Sub(l.RoomSince()) >= bound/2
			})
		if fits {
			return true, tried
		}
	}
	return false, tried
}

// stalls reports that the policy leaves a job without attempts. It ends the policy if nothing else
// has run for too long either, and otherwise returns how long after now that may be.
func (rs *Rounds) stalls(j *state.Job, after time.Duration) time.Duration {
	number := rs.policy.Current().Number
	waits := rs.step.Now.Sub(waitsSince(j)).Round(time.Millisecond)
	what := fmt.Sprintf("no attempt of %v ran, %d bundles of it are ready and fit, and it launched none: %s", j.ID, j.Ready.Len(), rs.noExcuse(j, after))
	if rs.state.Attempts.Len() > 0 {
		rs.step.Emit(step.PolicyStalls{Generation: number, Problem: fmt.Sprintf("stalls: for %v %s", waits, what), Every: after})
		return after
	}
	if rest := rs.state.IdleSince().Add(after).Sub(rs.step.Now); rest > 0 {
		return rest
	}
	reason := fmt.Sprintf("it stalls: for %v nothing ran, and %s", after, what)
	rs.step.Emit(step.PolicyGone{Generation: number, Breach: reason, Stalled: true})
	rs.Failed(number, reason)
	return after
}

// noExcuse says why a job's wait is not excused.
func (rs *Rounds) noExcuse(j *state.Job, after time.Duration) string {
	reason := j.Waits.Policy().Reason
	if reason == scheduler.WaitNone {
		return "it gave no reason"
	}
	return fmt.Sprintf("its reason, %q, explains a wait of %v at most", reason, rs.mayWait(j, after))
}

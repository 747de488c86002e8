package core

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A policy stalls when nothing at all runs, work is ready that the cluster could
// hold, and it neither launches any of it nor says why. It may be alive, answer
// every round and still never start anything, so it counts as broken: without
// that, a bad policy would hang every job.

// stalled returns a job that waits for no reason; nil when there is none.
func (c *Core) stalled() *job {
	if c.policy.Current() == nil || c.attempts.Len() > 0 {
		return nil
	}
	for j := range c.jobs.All() {
		if j.phase != jobAsked && j.ready.count > 0 && j.unplaceable == 0 && j.policyWait.Reason == scheduler.WaitNone && c.someFits(j) {
			return j
		}
	}
	return nil
}

// someFits says whether one of a job's longest ready bundles has room now. What
// is drained, or kept for others, is not the policy's to give.
func (c *Core) someFits(j *job) bool {
	tried := 0
	for b := range j.allReady() {
		if c.fits(b, nil, nil) {
			return true
		}
		if tried++; tried == bundlesTried {
			break
		}
	}
	return false
}

// watchStall sets a timer when the policy may be stalling.
func (c *Core) watchStall() {
	if c.step.Set.PolicyStallAfter > 0 && !c.stallWatched && c.stalled() != nil {
		c.stallWatched = true
		c.step.After(c.step.Set.PolicyStallAfter, step.TimerStall, c.ids.Attempt)
	}
}

// stallDue ends a policy that has started nothing since the timer was set.
func (c *Core) stallDue(attempts uint64) {
	c.stallWatched = false
	j := c.stalled()
	if j == nil || attempts != c.ids.Attempt {
		return
	}
	number := c.policy.Current().Number
	reason := fmt.Sprintf("it stalls: for %v nothing ran, %d bundles of %v were ready and fit, and it launched none and gave no reason",
		c.step.Set.PolicyStallAfter, j.ready.count, j.id)
	c.step.Act(PolicyGone{Generation: number, Breach: reason, Stalled: true})
	c.policyFailed(number, reason)
}

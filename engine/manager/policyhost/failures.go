package policyhost

import (
	"fmt"
	"time"
)

// A failed policy is started again after restartMin, doubling to restartMax.
const (
	restartMin = 100 * time.Millisecond
	restartMax = 10 * time.Second
)

// failureHistory has the last failures of a policy. The supervisor's lock guards it.
type failureHistory struct {
	times []time.Time
	pause time.Duration // before the last start
}

// add adds a failure, and returns how many there are within a window.
func (f *failureHistory) add(now time.Time, window time.Duration) int {
	recent := f.times[:0]
	for _, at := range f.times {
		if now.Sub(at) < window {
			recent = append(recent, at)
		}
	}
	f.times = append(recent, now)
	return len(f.times)
}

// nextPause returns how long to wait before the next start: longer each time.
func (f *failureHistory) nextPause() time.Duration {
	f.pause = min(max(2*f.pause, restartMin), restartMax)
	return f.pause
}

// watchStart reports a policy that does not answer its start for a while, until the returned
// function is called. Otherwise the only problem in status is the failure of the policy before.
func (n *Needs) watchStart(h *policyProcess, after time.Duration) (answered func()) {
	late := time.AfterFunc(after, func() {
		n.problem(ConditionStart, h.name, startForgotten, fmt.Sprintf("the policy %s has not answered its start for %v, and decides nothing yet", h.name, after))
		n.Log.Warn("the policy has not answered its start", "policy", h.name, "generation", h.generation, "after", after)
	})
	return func() {
		late.Stop()
		n.Conditions.Clear(ConditionStart)
	}
}

package state

import (
	"iter"

	"github.com/hamadryad/hamadryad/internal/idmap"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// SuspendedQueue is the bundle attempts that wait to be resumed, in the order in which they were
// suspended. The zero value is empty.
type SuspendedQueue struct {
	index idmap.Index[uint64, BundleAttempt] // by BundleAttempt.suspension
	last  uint64                             // the number that was given last
}

// All yields the bundle attempts, the first suspended first. Some may be removed meanwhile.
func (q *SuspendedQueue) All() iter.Seq[*BundleAttempt] { return q.index.All() }

// Len returns how many wait.
func (q *SuspendedQueue) Len() int { return q.index.Len() }

// Add adds a bundle attempt that was suspended.
func (q *SuspendedQueue) Add(r *BundleAttempt, now scheduler.Time) {
	r.suspended = now
	q.add(r)
}

func (q *SuspendedQueue) add(r *BundleAttempt) {
	q.last++
	r.suspension = q.last
	q.index.Add(r.suspension, r)
}

// Remove removes a bundle attempt, if it waits.
func (q *SuspendedQueue) Remove(r *BundleAttempt) {
	if r.suspended != 0 {
		r.suspended = 0
		q.index.Remove(r.suspension)
	}
}

// freeze has it be the copy of another queue. Of its attempts only the ids are written.
func (q *SuspendedQueue) freeze(of *SuspendedQueue) {
	q.index = of.index.Clone(func(r *BundleAttempt) *BundleAttempt { return r })
}

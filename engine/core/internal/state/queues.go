package state

import (
	"iter"

	"github.com/hamadryad/hamadryad/internal/idmap"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ReadyList links the ready bundles of a job, the longest ready first. The zero value is empty.
type ReadyList struct {
	bundles     []Bundle // of the job, by index
	first, last int32    // bundle index + 1; 0: none
	count       int
}

func (l *ReadyList) add(b *Bundle) {
	b.prev, b.next = l.last, 0
	if l.last == 0 {
		l.first = int32(b.Index) + 1
	} else {
		l.bundles[l.last-1].next = int32(b.Index) + 1
	}
	l.last = int32(b.Index) + 1
	l.count++
}

func (l *ReadyList) remove(b *Bundle) {
	if b.prev == 0 {
		l.first = b.next
	} else {
		l.bundles[b.prev-1].next = b.next
	}
	if b.next == 0 {
		l.last = b.prev
	} else {
		l.bundles[b.next-1].prev = b.prev
	}
	b.prev, b.next = 0, 0
	l.count--
}

// All yields the ready bundles, the longest ready first. The caller may remove the current
// bundle.
func (l *ReadyList) All() iter.Seq[*Bundle] {
	return func(yield func(*Bundle) bool) {
		for at := l.first; at != 0; {
			b := &l.bundles[at-1]
			at = b.next
			if !yield(b) {
				return
			}
		}
	}
}

// Len returns how many bundles are ready.
func (l *ReadyList) Len() int { return l.count }

// Longest returns the bundle that has been ready longest; nil: none is ready.
func (l *ReadyList) Longest() *Bundle {
	if l.first == 0 {
		return nil
	}
	return &l.bundles[l.first-1]
}

// SuspendedQueue holds the bundle attempts that wait to be resumed, in the order of their
// suspension. The zero value is empty.
type SuspendedQueue struct {
	index idmap.Index[uint64, BundleAttempt] // by BundleAttempt.suspension
	last  uint64                             // the last number assigned
}

// All yields the bundle attempts, the first suspended first. The caller may remove some
// meanwhile.
func (q *SuspendedQueue) All() iter.Seq[*BundleAttempt] { return q.index.All() }

// Len returns how many bundle attempts wait.
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

// freeze turns this queue into a copy of another. A checkpoint holds only the attempts' ids.
func (q *SuspendedQueue) freeze(of *SuspendedQueue) {
	q.index = of.index.Clone(func(r *BundleAttempt) *BundleAttempt { return r })
}

package query

import (
	"context"
	"sync"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
)

// queueRowsMax is how many rows wait to be applied before Enqueue blocks: some 20 MB, and a tenth
// of a second's work. A larger single batch waits until the queue is empty.
const queueRowsMax = 1 << 16

// queue holds batches until its own goroutine applies them.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond // a batch was added or applied
	waiting []core.Changes
	rows    int // in waiting, and in the batch being applied
	handed  uint64
	applied uint64
	readers []reader // waiting readers, in order of arrival
	closed  bool
	over    chan struct{} // closed when the goroutine has ended
}

// reader waits until so many batches were applied.
type reader struct {
	batches uint64
	done    chan struct{}
}

// init starts the goroutine, which calls apply for one batch after the other.
func (q *queue) init(apply func(core.Changes)) {
	q.changed.L, q.over = &q.mu, make(chan struct{})
	go func() {
		defer close(q.over)
		for {
			f, more := q.next()
			if !more {
				return
			}
			apply(f)
			q.taken(rowsOf(&f.ChangeSet))
		}
	}()
}

func (q *queue) next() (f core.Changes, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 {
		if q.closed {
			return f, false
		}
		q.changed.Wait()
	}
	f, q.waiting[0] = q.waiting[0], core.Changes{}
	if q.waiting = q.waiting[1:]; len(q.waiting) == 0 {
		q.waiting = nil
	}
	return f, true
}

func (q *queue) taken(rows int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rows -= rows
	q.applied++
	for len(q.readers) > 0 && q.readers[0].batches <= q.applied {
		close(q.readers[0].done)
		q.readers = q.readers[1:]
	}
	q.changed.Broadcast()
}

func (q *queue) enqueue(f core.Changes) {
	rows := rowsOf(&f.ChangeSet)
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.rows > 0 && q.rows+rows > queueRowsMax && !q.closed {
		q.changed.Wait()
	}
	if q.closed {
		return
	}
	q.waiting = append(q.waiting, f)
	q.rows += rows
	q.handed++
	q.changed.Broadcast()
}

// awaitApplied waits until all rows queued before are applied, or ctx ends.
func (q *queue) awaitApplied(ctx context.Context) error {
	done := q.reached()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reached is closed when all rows queued before are applied; nil: they are.
func (q *queue) reached() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.applied == q.handed {
		return nil
	}
	if n := len(q.readers); n > 0 && q.readers[n-1].batches == q.handed {
		return q.readers[n-1].done
	}
	done := make(chan struct{})
	q.readers = append(q.readers, reader{q.handed, done})
	return done
}

// waits is how many rows wait, or are being taken in.
func (q *queue) waits() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.rows
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.changed.Broadcast()
	q.mu.Unlock()
	<-q.over
}

// rowsOf counts a batch's rows; a batch without any counts as one.
func rowsOf(r *changes.ChangeSet) int {
	return max(1, len(r.Jobs)+len(r.Stages)+len(r.Elements)+len(r.Attempts)+len(r.Launchers)+len(r.Decided)+len(r.Ended))
}

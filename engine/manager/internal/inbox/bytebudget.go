package inbox

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// ByteBudget bounds waiting bytes. It serves callers in order of arrival. Safe for concurrent use.
type ByteBudget struct {
	max   int64
	sem   *semaphore.Weighted
	taken atomic.Int64
}

// NewByteBudget returns room for so many bytes.
func NewByteBudget(bytes int64) *ByteBudget {
	return &ByteBudget{max: bytes, sem: semaphore.NewWeighted(bytes)}
}

// share is the part of the budget for so many bytes: an entry larger than the whole budget waits
// until it is empty.
func (r *ByteBudget) share(bytes int64) int64 { return min(bytes, r.max) }

// offered takes room for bytes if there is some now.
func (r *ByteBudget) offered(bytes int64) bool {
	ok := r.sem.TryAcquire(r.share(bytes))
	if ok {
		r.taken.Add(bytes)
	}
	return ok
}

// ReserveBytes waits for room for bytes until ctx ends or ended is closed.
func (r *ByteBudget) ReserveBytes(ctx context.Context, bytes int64, ended <-chan struct{}) error {
	if r.offered(bytes) {
		return nil
	}
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-ended:
			cancel()
		case <-wait.Done():
		}
	}()
	switch err := r.sem.Acquire(wait, r.share(bytes)); {
	case err == nil:
		r.taken.Add(bytes)
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return ErrStopping
}

// ReleaseBytes returns the share taken for bytes.
func (r *ByteBudget) ReleaseBytes(bytes int64) {
	r.taken.Add(-bytes)
	r.sem.Release(r.share(bytes))
}

// Taken is how many bytes are taken; more than the budget if one entry was larger than it.
func (r *ByteBudget) Taken() int64 { return r.taken.Load() }

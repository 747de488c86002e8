package manager

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// room bounds bytes that wait. Who comes first is let in first. Safe for concurrent use.
type room struct {
	max int64
	sem *semaphore.Weighted
}

func newRoom(bytes int64) *room { return &room{bytes, semaphore.NewWeighted(bytes)} }

// share is what is taken for so many bytes: one that is larger than the whole room waits
// until nothing else is there.
func (r *room) share(bytes int64) int64 { return min(bytes, r.max) }

// offered takes room for bytes if there is some now.
func (r *room) offered(bytes int64) bool { return r.sem.TryAcquire(r.share(bytes)) }

// take waits for room for bytes until ctx or the driver ends.
func (r *room) take(ctx context.Context, bytes int64, ended <-chan struct{}) error {
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
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return errStopping
}

// give gives back what was taken for bytes.
func (r *room) give(bytes int64) { r.sem.Release(r.share(bytes)) }

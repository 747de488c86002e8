package inbox

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Room bounds bytes that wait. Who comes first is let in first. Safe for concurrent use.
type Room struct {
	max int64
	sem *semaphore.Weighted
}

// NewRoom returns room for so many bytes.
func NewRoom(bytes int64) *Room { return &Room{bytes, semaphore.NewWeighted(bytes)} }

// share is what is taken for so many bytes: one that is larger than the whole room waits
// until nothing else is there.
func (r *Room) share(bytes int64) int64 { return min(bytes, r.max) }

// offered takes room for bytes if there is some now.
func (r *Room) offered(bytes int64) bool { return r.sem.TryAcquire(r.share(bytes)) }

// Take waits for room for bytes until ctx ends or ended is closed.
func (r *Room) Take(ctx context.Context, bytes int64, ended <-chan struct{}) error {
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
	return ErrStopping
}

// Give gives back what was taken for bytes.
func (r *Room) Give(bytes int64) { r.sem.Release(r.share(bytes)) }

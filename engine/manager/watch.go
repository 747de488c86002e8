package manager

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// watchGap is the least time between two messages of a watch. Only a job's end
	// is told sooner.
	watchGap = 100 * time.Millisecond
	// watchersMax bounds streams that watch jobs.
	watchersMax = 10_000
)

// watchers are the streams that want to know of changes, by job.
type watchers struct {
	mu    sync.Mutex
	byJob map[scheduler.JobID]map[*watcher]bool
	count int
}

// watcher is one of them.
type watcher struct {
	changed chan struct{} // holds one: something changed since it was taken
	ended   chan struct{} // likewise: the job is over
}

func (w *watchers) add(job scheduler.JobID) (*watcher, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count >= watchersMax {
		return nil, status.Errorf(codes.ResourceExhausted, "%d jobs are being watched already: ask for the status instead", watchersMax)
	}
	w.count++
	one := &watcher{changed: make(chan struct{}, 1), ended: make(chan struct{}, 1)}
	if w.byJob[job] == nil {
		w.byJob[job] = map[*watcher]bool{}
	}
	w.byJob[job][one] = true
	return one, nil
}

func (w *watchers) remove(job scheduler.JobID, one *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count--
	delete(w.byJob[job], one)
	if len(w.byJob[job]) == 0 {
		delete(w.byJob, job)
	}
}

// tell wakes the streams that watch jobs. It does not block.
func (w *watchers) tell(a core.JobsChanged) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, job := range a.Ended {
		for one := range w.byJob[job] {
			signal(one.ended)
		}
	}
	for _, job := range a.Jobs {
		for one := range w.byJob[job] {
			signal(one.changed)
		}
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// next waits for a change, and then until watchGap has passed or the job is over.
func (w *watcher) next(ctx context.Context, stopping <-chan struct{}) error {
	gap := time.After(watchGap)
	if err := sleepUntil(ctx, stopping, w.changed); err != nil {
		return err
	}
	select {
	case <-gap:
		return nil
	case <-w.ended:
		return nil
	case <-ctx.Done():
		return statusOf(ctx.Err())
	case <-stopping:
		return statusOf(errStopping)
	}
}

// Watch sends the job's status when it changes, to its end.
func (s *managerServer) Watch(q *wire.StatusRequest, stream grpc.ServerStreamingServer[wire.JobStatus]) error {
	ctx := stream.Context()
	job := scheduler.JobID(q.Job)
	w, err := s.m.watchers.add(job)
	if err != nil {
		return err
	}
	defer s.m.watchers.remove(job, w)
	for {
		st, err := s.m.jobStatus(ctx, q.Job, q.Attempts)
		var lost lostError
		if errors.As(err, &lost) {
			st, err = s.m.lostStatus(ctx, q.Job, lost.failure)
		}
		if err != nil {
			return err
		}
		s.m.explained(ctx, st)
		if err := stream.Send(st); err != nil || ended(st) {
			return err
		}
		if err := w.next(ctx, s.m.stopping); err != nil {
			return err
		}
	}
}

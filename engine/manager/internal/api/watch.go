package api

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// watchGap is the least time between two messages of a watch. Only a job's end
	// is sent sooner.
	watchGap = 100 * time.Millisecond
	// explainEvery is the least time between two calls to the policy in one watch about why a job
	// waits, and between the watch's beginning and the first. The policy makes no round while it
	// answers, and most jobs wait for less.
	explainEvery = time.Second
	// watchersMax bounds streams that watch jobs. A stream with attempts counts as attemptsWeight
	// of them: its messages are larger by that much, and wait in memory until the receiver takes
	// them.
	watchersMax    = 10_000
	attemptsWeight = 100
)

// watchers are the streams that watch jobs, by job.
type watchers struct {
	mu    sync.Mutex
	byJob map[scheduler.JobID]map[*watcher]bool
	count int // by weight
}

// watcher is one stream.
type watcher struct {
	weight  int
	changed chan struct{} // holds one: something changed since it was taken

	over context.Context // ends with the job
	end  context.CancelFunc
}

func newWatchers() *watchers { return &watchers{byJob: map[scheduler.JobID]map[*watcher]bool{}} }

// add adds a stream with that context.
func (w *watchers) add(ctx context.Context, job scheduler.JobID, attempts bool) (*watcher, error) {
	weight := 1
	if attempts {
		weight = attemptsWeight
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count+weight > watchersMax {
		return nil, status.Errorf(codes.ResourceExhausted, "as many jobs are being watched already as can be at once, which is %d, or %d with attempts: ask for the status instead", watchersMax, watchersMax/attemptsWeight)
	}
	w.count += weight
	one := &watcher{weight: weight, changed: make(chan struct{}, 1)}
	one.over, one.end = context.WithCancel(ctx)
	if w.byJob[job] == nil {
		w.byJob[job] = map[*watcher]bool{}
	}
	w.byJob[job][one] = true
	return one, nil
}

func (w *watchers) remove(job scheduler.JobID, one *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one.end()
	w.count -= one.weight
	delete(w.byJob[job], one)
	if len(w.byJob[job]) == 0 {
		delete(w.byJob, job)
	}
}

// notifyChanged wakes the streams that watch jobs. It does not block.
func (w *watchers) notifyChanged(a core.JobsChanged) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, job := range a.Ended {
		for one := range w.byJob[job] {
			one.end()
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
	case <-w.over.Done():
		return statusOf(ctx.Err())
	case <-stopping:
		return statusOf(inbox.ErrStopping)
	}
}

// Watch sends the job's status when it changes, to its end.
func (s *Server) Watch(q *wire.StatusRequest, stream grpc.ServerStreamingServer[wire.JobStatus]) error {
	ctx := stream.Context()
	job := scheduler.JobID(q.Job)
	w, err := s.watchers.add(ctx, job, q.Attempts)
	if err != nil {
		return err
	}
	defer s.watchers.remove(job, w)
	why := newSparing(s.needs.Supervisor.Explain)
	for {
		st, err := s.readable(ctx, q.Job, q.Attempts)
		var lost lostError
		if errors.As(err, &lost) {
			st, err = s.lostStatus(ctx, q.Job, lost.failure)
		}
		if err != nil {
			return err
		}
		s.explained(w.over, st, why.ask) // an end need not wait for the policy
		if err := stream.Send(st); err != nil || ended(st) {
			return err
		}
		stop := why.renew(w)
		err = w.next(ctx, s.needs.Stopping)
		stop()
		if err != nil {
			return err
		}
	}
}

// sparing asks the policy why a job waits, and repeats its answer until it may ask again. It has no
// answer before the first.
type sparing struct {
	explain func(context.Context, scheduler.JobID) (scheduler.Explanation, bool)
	due     time.Time // it may ask again
	old     bool      // the last answer was a repetition
	last    scheduler.Explanation
	ok      bool
}

func newSparing(explain func(context.Context, scheduler.JobID) (scheduler.Explanation, bool)) *sparing {
	return &sparing{explain: explain, due: time.Now().Add(explainEvery)}
}

func (s *sparing) ask(ctx context.Context, job scheduler.JobID) (scheduler.Explanation, bool) {
	if s.old = time.Now().Before(s.due); !s.old {
		s.last, s.ok = s.explain(ctx, job)
		s.due = time.Now().Add(explainEvery)
	}
	return s.last, s.ok
}

// renew wakes a watcher that got an old answer as soon as there may be a new one: perhaps nothing
// else changes. The returned function ends that.
func (s *sparing) renew(w *watcher) (stop func()) {
	if !s.old {
		return func() {}
	}
	s.old = false
	t := time.AfterFunc(time.Until(s.due), func() { signal(w.changed) })
	return func() { t.Stop() }
}

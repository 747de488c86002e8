package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// watchGap is the least time between two messages of a watch.
	watchGap = 100 * time.Millisecond
	// watchersMax bounds streams that watch jobs.
	watchersMax = 10_000
)

// jobStatus reads a job. The error is a NotFound status for one that is unknown.
func (m *manager) jobStatus(ctx context.Context, job uint64, attempts bool) (*wire.JobStatus, error) {
	var s *wire.JobStatus
	var known bool
	var lost *wire.Failure
	err := m.driver.read(ctx, func(c *core.Core) {
		if s, known = c.JobStatus(scheduler.JobID(job), attempts); !known {
			lost = c.Lost(scheduler.JobID(job))
		}
	})
	switch {
	case err != nil:
		return nil, statusOf(err)
	case lost != nil:
		return nil, lostError{lost}
	case !known:
		return nil, status.Errorf(codes.NotFound, "there is no %v: see \"hamadryad jobs --all\"; jobs that ended long ago are forgotten", scheduler.JobID(job))
	}
	return s, nil
}

// lostError is about a job that an earlier life may have known.
type lostError struct{ failure *wire.Failure }

func (e lostError) Error() string { return e.failure.Message }

// GRPCStatus is what callers get.
func (e lostError) GRPCStatus() *status.Status { return status.New(codes.NotFound, e.failure.Message) }

// lostStatus tells who waits for a job that the manager lost that it failed. It is told
// when nothing of the job can run any more, so that what the job leaves behind can be
// removed: each launcher has joined by then, or is given up and past its lease.
func (m *manager) lostStatus(ctx context.Context, job uint64, f *wire.Failure) (*wire.JobStatus, error) {
	settled := time.After(time.Until(m.served.Add(m.cfg.LauncherLostAfter)))
	if err := sleepUntil(ctx, m.stopping, settled); err != nil {
		return nil, err
	}
	return &wire.JobStatus{Summary: &wire.JobSummary{Job: job, State: wire.JobState_JOB_STATE_FAILED}, Failure: f}, nil
}

// Status describes a job.
func (s *managerServer) Status(ctx context.Context, q *wire.StatusRequest) (*wire.JobStatus, error) {
	st, err := s.m.jobStatus(ctx, q.Job, q.Attempts)
	if err != nil {
		return nil, err
	}
	s.m.explained(ctx, st)
	return st, nil
}

// Jobs lists jobs in order of their numbers.
func (s *managerServer) Jobs(ctx context.Context, q *wire.JobsRequest) (*wire.JobsReply, error) {
	r := &wire.JobsReply{}
	err := s.m.driver.read(ctx, func(c *core.Core) { r.Jobs = c.Jobs(q.All) })
	return r, statusOf(err)
}

// Launchers lists launchers, with how busy their machines are. Those that were not
// heard of for a while are suspect.
func (s *managerServer) Launchers(ctx context.Context, _ *wire.Empty) (*wire.LaunchersReply, error) {
	r := &wire.LaunchersReply{}
	if err := s.m.driver.read(ctx, func(c *core.Core) { r.Launchers = c.Launchers() }); err != nil {
		return nil, statusOf(err)
	}
	suspects, loads := s.m.launchers.suspects(), s.m.launchers.loads()
	for _, l := range r.Launchers {
		l.Load = loads[l.Name]
		if l.State == "up" && slices.Contains(suspects, l.Name) {
			l.State = "suspect"
		}
	}
	return r, nil
}

func ended(s *wire.JobStatus) bool {
	switch s.GetSummary().GetState() {
	case wire.JobState_JOB_STATE_SUCCEEDED, wire.JobState_JOB_STATE_FAILED, wire.JobState_JOB_STATE_KILLED:
		return true
	}
	return false
}

// waits tells whether something of the job could run and does not.
func waits(s *wire.JobStatus) bool {
	if s.GetSummary().GetState() == wire.JobState_JOB_STATE_ASKED {
		return true
	}
	for _, stage := range s.Stages {
		if stage.Ready > 0 {
			return true
		}
	}
	return false
}

// explanation is what a policy says, as one line.
func explanation(e scheduler.Explanation) string {
	var b strings.Builder
	b.WriteString(e.Reason.String())
	if e.Place > 0 {
		fmt.Fprintf(&b, ", place %d in the queue", e.Place)
	}
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	}
	for _, f := range e.Facts {
		fmt.Fprintf(&b, "; %s %s", f.Name, f.Value)
	}
	return b.String()
}

// watchers are the streams that want to know of changes, by job.
type watchers struct {
	mu    sync.Mutex
	byJob map[scheduler.JobID]map[chan struct{}]bool
	count int
}

func (w *watchers) add(job scheduler.JobID) (chan struct{}, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count >= watchersMax {
		return nil, status.Errorf(codes.ResourceExhausted, "%d jobs are being watched already: ask for the status instead", watchersMax)
	}
	w.count++
	changed := make(chan struct{}, 1)
	if w.byJob[job] == nil {
		w.byJob[job] = map[chan struct{}]bool{}
	}
	w.byJob[job][changed] = true
	return changed, nil
}

func (w *watchers) remove(job scheduler.JobID, changed chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count--
	delete(w.byJob[job], changed)
	if len(w.byJob[job]) == 0 {
		delete(w.byJob, job)
	}
}

// changed wakes the streams that watch a job. It does not block.
func (w *watchers) changed(job scheduler.JobID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.byJob[job] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Watch sends the job's status when it changes, to its end.
func (s *managerServer) Watch(q *wire.StatusRequest, stream grpc.ServerStreamingServer[wire.JobStatus]) error {
	ctx := stream.Context()
	job := scheduler.JobID(q.Job)
	changed, err := s.m.watchers.add(job)
	if err != nil {
		return err
	}
	defer s.m.watchers.remove(job, changed)
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
		gap := time.After(watchGap)
		if err := sleepUntil(ctx, s.m.stopping, changed); err != nil {
			return err
		}
		// An end is told at once; other changes wait for the gap.
		if st, err := s.m.jobStatus(ctx, q.Job, q.Attempts); err == nil && ended(st) {
			return stream.Send(st)
		}
		if err := sleepUntil(ctx, s.m.stopping, gap); err != nil {
			return err
		}
	}
}

func sleepUntil[T any](ctx context.Context, stopping <-chan struct{}, c <-chan T) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return statusOf(ctx.Err())
	case <-stopping:
		return statusOf(errStopping)
	}
}

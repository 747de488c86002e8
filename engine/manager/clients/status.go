package clients

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/inbox"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// jobStatus reads a job. The error is a NotFound status for one that is unknown.
func (s *Server) jobStatus(ctx context.Context, job uint64, attempts bool) (*wire.JobStatus, error) {
	message, known, err := s.needs.Model.JobStatus(ctx, scheduler.JobID(job), attempts)
	if err != nil {
		return nil, statusOf(err)
	}
	if !known {
		if message, err = s.unknown(ctx, scheduler.JobID(job), attempts); err != nil {
			return nil, err
		}
	}
	s.needs.Launchers.Progress(message.Attempts)
	if note := s.needs.Tickets.Note(scheduler.JobID(job)); note != "" {
		message.Notes = append(slices.Clip(message.Notes), note)
	}
	return message, nil
}

// unknown reads a job that the model does not know, from history. Where that has none the core says whether it should be known; what
// it has seen by then is durable when it answers, and the model has it.
func (s *Server) unknown(ctx context.Context, id scheduler.JobID, attempts bool) (*wire.JobStatus, error) {
	switch past, there, err := s.pastStatus(ctx, id, attempts); {
	case err != nil:
		return nil, statusOf(err)
	case there:
		return past, nil
	}
	var lost *wire.Failure
	if err := s.needs.Inbox.Read(ctx, func(c *core.Core) { lost = c.Lost(id) }); err != nil {
		return nil, statusOf(err)
	}
	message, known, err := s.needs.Model.JobStatus(ctx, id, attempts)
	switch {
	case err != nil:
		return nil, statusOf(err)
	case known:
		return message, nil
	case lost != nil:
		return nil, lostError{lost}
	}
	return nil, status.Errorf(codes.NotFound, "there is no %v: see \"hamadryad jobs --all\"; of those that ended long ago nothing is kept (manager.history)", id)
}

// lostError is about a job that an earlier life may have known.
type lostError struct{ failure *wire.Failure }

func (e lostError) Error() string { return e.failure.Message }

// GRPCStatus is what callers get.
func (e lostError) GRPCStatus() *status.Status { return status.New(codes.NotFound, e.failure.Message) }

// lostStatus tells who waits for a job that the manager lost that it failed. It is told
// when nothing of the job can run any more, so that what the job leaves behind can be
// removed: each launcher has joined by then, or is given up and past its lease.
func (s *Server) lostStatus(ctx context.Context, job uint64, f *wire.Failure) (*wire.JobStatus, error) {
	if err := sleepUntil(ctx, s.needs.Stopping, time.After(time.Until(s.needs.Settled))); err != nil {
		return nil, err
	}
	return &wire.JobStatus{Summary: &wire.JobSummary{Job: job, State: wire.JobState_JOB_STATE_FAILED}, Failure: f}, nil
}

// Status describes a job.
func (s *Server) Status(ctx context.Context, q *wire.StatusRequest) (*wire.JobStatus, error) {
	st, err := s.readable(ctx, q.Job, q.Attempts)
	if err != nil {
		return nil, err
	}
	s.explained(ctx, st, s.needs.Supervisor.Explain)
	return st, nil
}

// Jobs lists jobs that one may look at: those that live in order of their numbers, before them those
// that ended, in the order of their ends.
func (s *Server) Jobs(ctx context.Context, q *wire.JobsRequest) (*wire.JobsReply, error) {
	r := &wire.JobsReply{}
	jobs, err := s.needs.Model.Jobs(ctx, q.All)
	if err == nil && q.All {
		jobs, err = s.withPast(jobs)
	}
	r.Jobs = s.readableOf(ctx, jobs)
	return r, statusOf(err)
}

// Launchers lists launchers, with how busy their machines are. Those that were not
// heard of for a while are suspect.
func (s *Server) Launchers(ctx context.Context, _ *wire.Empty) (*wire.LaunchersReply, error) {
	r := &wire.LaunchersReply{}
	var err error
	if r.Launchers, err = s.needs.Model.Launchers(ctx); err != nil {
		return nil, statusOf(err)
	}
	suspects, loads := s.needs.Launchers.Suspects(), s.needs.Launchers.Loads()
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

func sleepUntil[T any](ctx context.Context, stopping <-chan struct{}, c <-chan T) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return statusOf(ctx.Err())
	case <-stopping:
		return statusOf(inbox.ErrStopping)
	}
}

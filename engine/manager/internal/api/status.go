package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// lostError is about a job that an earlier life may have known.
type lostError struct{ failure *wire.Failure }

func (e lostError) Error() string { return e.failure.Message }

// GRPCStatus is the status that callers get.
func (e lostError) GRPCStatus() *status.Status { return status.New(codes.NotFound, e.failure.Message) }

// lostStatus reports a job that the manager lost as failed to clients that wait for it. It is sent
// when nothing of the job can run any more, so that its leftovers can be removed: each launcher has
// joined by then, or is given up and past its lease.
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

// Explained describes a job that Look found, once: without attempts, with the policy's reasons why
// it waits.
func (s *Server) Explained(ctx context.Context, j *query.Job) (*wire.JobStatus, error) {
	st, err := s.jobStatus(ctx, j, false)
	if err == nil {
		s.explained(ctx, st, s.needs.Supervisor.Explain)
	}
	return st, err
}

// Jobs lists the jobs that the caller may look at: the live ones in order of their numbers, before
// them the newest ended ones, in the order of their ends. A caller gets the others by Before.
func (s *Server) Jobs(ctx context.Context, q *wire.JobsRequest) (*wire.JobsReply, error) {
	r := &wire.JobsReply{}
	jobs, err := s.needs.Read.LiveJobs(ctx)
	r.Jobs = s.readableOf(ctx, jobs)
	if err == nil && q.All {
		err = s.withEnded(ctx, q, r)
	}
	return r, statusOf(err)
}

// Bounds of the attempts that an answer about launchers lists: the live ones of one launcher, and
// those of all launchers.
const (
	attemptsThereMax  = 500
	attemptsListedMax = 5000
)

// Launchers lists launchers, with the load of their machines. A launcher without a recent heartbeat
// is suspect. Those that the request names have their attempts.
func (s *Server) Launchers(ctx context.Context, q *wire.LaunchersRequest) (*wire.LaunchersReply, error) {
	r := &wire.LaunchersReply{}
	var err error
	if r.Launchers, err = s.needs.Read.Launchers(ctx); err != nil {
		return nil, statusOf(err)
	}
	s.needs.Launchers.Describe(r.Launchers)
	suspects, loads := s.needs.Launchers.Suspects(), s.needs.Launchers.Loads()
	for _, l := range r.Launchers {
		l.Load = loads[l.Name]
		if l.State == "up" && slices.Contains(suspects, l.Name) {
			l.State = "suspect"
		}
	}
	return r, statusOf(s.addAttempts(ctx, r.Launchers, q.AttemptsOf))
}

// addAttempts adds their attempts to the named launchers.
func (s *Server) addAttempts(ctx context.Context, all []*wire.LauncherStatus, names []string) error {
	if len(names) == 0 {
		return nil
	}
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[name] = true
	}
	left := attemptsListedMax
	for _, l := range all {
		if !wanted[l.Name] {
			continue
		}
		if err := s.needs.Read.AddAttempts(ctx, l, min(left, attemptsThereMax), s.FindJob); err != nil {
			return err
		}
		left -= len(l.Attempts)
	}
	return nil
}

func ended(s *wire.JobStatus) bool {
	switch s.GetSummary().GetState() {
	case wire.JobState_JOB_STATE_SUCCEEDED, wire.JobState_JOB_STATE_FAILED, wire.JobState_JOB_STATE_KILLED:
		return true
	}
	return false
}

// waits reports whether something of the job could run and does not.
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

// explanation is a policy's explanation, as one line.
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

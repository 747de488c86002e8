package api

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/manager/internal/schedules"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// takeRunWait is how long a runner waits for a run before it is told that there is none.
const takeRunWait = 15 * time.Second

// nextMax bounds the next due times that are shown of one schedule.
const nextMax = 100

// AddSchedule adds a schedule of the caller.
func (s *Server) AddSchedule(ctx context.Context, q *wire.AddScheduleRequest) (*wire.Empty, error) {
	if err := s.roomForWork(); err != nil {
		return nil, err
	}
	p := submitter(ctx, q.Principal)
	if q.User != "" && q.User != p.GetName() {
		return nil, status.Errorf(codes.PermissionDenied, "you are %q, and may not add or replace schedules of %q: its runs would be that user's", p.GetName(), q.User)
	}
	if _, err := schedules.NewTimes(q.GetDefinition().GetCron(), q.GetDefinition().GetZone()); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return s.done(ctx, func(client uint64) *wire.Input {
		return wire.NewInput(&wire.AddSchedule{Client: client, Principal: p, Name: q.Name, Definition: q.Definition, Replace: q.Replace})
	})
}

// done is call for requests whose answer is that they were carried out.
func (s *Server) done(ctx context.Context, in func(client uint64) *wire.Input) (*wire.Empty, error) {
	if _, err := s.call(ctx, in); err != nil {
		return nil, err
	}
	return &wire.Empty{}, nil
}

// Schedules lists the caller's schedules. Those of others are for callers that may look at
// everything.
func (s *Server) Schedules(ctx context.Context, q *wire.SchedulesRequest) (*wire.SchedulesReply, error) {
	user := submitter(ctx, q.Principal).GetName()
	if rules := s.needs.Rules(); rules != nil && q.AllUsers && !rules.Has(callerOf(ctx, rules), access.Viewer, access.Operator, access.Administrator) {
		return nil, status.Errorf(codes.PermissionDenied, "%s may list its own schedules alone: those of others need one of the roles viewer, operator, administrator", user)
	}
	return &wire.SchedulesReply{
		Schedules: s.needs.Schedules.List(user, q.AllUsers, q.Name, int(min(q.Next, nextMax))), User: user, RunnerHeard: int64(s.needs.Schedules.Heard(user)),
	}, nil
}

// ChangeSchedule pauses, resumes or removes a schedule, or has it run now.
func (s *Server) ChangeSchedule(ctx context.Context, q *wire.ChangeScheduleRequest) (*wire.Empty, error) {
	return s.done(ctx, func(client uint64) *wire.Input {
		return wire.NewInput(&wire.ChangeSchedule{Client: client, Principal: submitter(ctx, q.Principal), User: q.User, Name: q.Name, Act: q.Act})
	})
}

// TakeRun waits for a run of the caller's schedules, and gives it to the caller.
func (s *Server) TakeRun(ctx context.Context, q *wire.TakeRunRequest) (*wire.TakeRunReply, error) {
	p := submitter(ctx, q.Principal)
	over := time.NewTimer(takeRunWait)
	defer over.Stop()
	for {
		changed := s.needs.Schedules.Changed()
		if s.needs.Schedules.Wants(p.GetName(), q, s.needs.ScheduleLease()) {
			if err := audit.Of(ctx).Change(); err != nil {
				return nil, err
			}
			r, err := s.call(ctx, func(client uint64) *wire.Input {
				return wire.NewInput(&wire.TakeRun{Client: client, Principal: p, Runner: q.Runner, Held: q.Held, Full: q.Full})
			})
			return r.Run, err
		}
		select {
		case <-changed:
		case <-over.C:
			return &wire.TakeRunReply{}, nil
		case <-ctx.Done():
			return nil, statusOf(ctx.Err())
		case <-s.needs.Stopping:
			return nil, statusOf(inbox.ErrStopping)
		}
	}
}

// EndRun records how the command of a run ended.
func (s *Server) EndRun(ctx context.Context, q *wire.EndRunRequest) (*wire.Empty, error) {
	return s.done(ctx, func(client uint64) *wire.Input {
		return wire.NewInput(&wire.EndRun{Client: client, Principal: submitter(ctx, q.Principal), Key: q.Key, Succeeded: q.Succeeded, Reason: q.Reason})
	})
}

package api

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/credentials"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// takeTickets takes the tickets from a submission and keeps them, before the core has the job. The
// returned function is called with whether the core took the submission.
func (s *Server) takeTickets(ctx context.Context, q *wire.SubmitRequest) (func(took bool), error) {
	cache := q.Tickets
	q.Tickets = nil
	if len(cache) == 0 {
		return func(bool) {}, nil
	}
	settle, err := s.needs.Tickets.TakeTicket(ctx, scheduler.JobID(q.Job), q.Spec.GetPrincipal().GetName(), cache)
	switch {
	case err == nil:
		return settle, nil
	case errors.Is(err, credentials.ErrForeign):
		return nil, status.Error(codes.PermissionDenied, err.Error())
	case ctx.Err() != nil:
		return nil, statusOf(ctx.Err())
	}
	return nil, status.Error(codes.FailedPrecondition, err.Error())
}

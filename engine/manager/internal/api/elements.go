package api

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Retry makes elements of a job array run again.
func (s *Server) Retry(ctx context.Context, q *wire.RetryRequest) (*wire.Empty, error) {
	may := func(rules *access.Rules, j access.Job) error {
		return rules.Change(callerOf(ctx, rules), "retry elements of", j)
	}
	return s.onJob(ctx, q.Job, may, func(client uint64) *wire.Input {
		return wire.NewInput(&wire.RetryElements{Client: client, Job: q.Job, Principal: submitter(ctx, q.Principal), Elements: q.Elements})
	})
}

// elementsMax is how many elements an answer lists at most.
const elementsMax = 1000

// Elements lists elements of a job array.
func (s *Server) Elements(ctx context.Context, q *wire.ElementsRequest) (*wire.ElementsReply, error) {
	j, err := s.FindJob(ctx, scheduler.JobID(q.Job))
	if err != nil {
		return nil, err
	}
	defer j.Close()
	if q.Limit > elementsMax {
		return nil, status.Errorf(codes.InvalidArgument, "%d elements are too many for one answer: ask for up to %d, and for the next ones then", q.Limit, elementsMax)
	}
	limit := int(q.Limit)
	if limit == 0 {
		limit = elementsMax
	}
	list, more, lacks, err := j.Elements(ctx, query.ElementQuery{Among: q.Elements, States: q.States, After: q.After, Limit: limit})
	if err != nil {
		return nil, err
	}
	return &wire.ElementsReply{Elements: list, More: more, Incomplete: lacks}, nil
}

// ofElements returns a function that reports whether an attempt is of the elements that a request
// for logs names; all are, if it names none.
func ofElements(j *query.Job, q *wire.LogsRequest) (func(*changes.Attempt) bool, error) {
	if len(q.Elements) == 0 {
		return func(*changes.Attempt) bool { return true }, nil
	}
	e, err := j.ElementsOf()
	if err != nil {
		return nil, err
	}
	return e.Which(j.ID, q.Elements)
}

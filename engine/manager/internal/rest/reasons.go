package rest

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ListReasons returns why a job waited, over time.
func (s *Server) ListReasons(ctx context.Context, q restapi.ListReasonsRequestObject) (restapi.ListReasonsResponseObject, error) {
	l, err := s.openJob(ctx, q.Job)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	r, err := l.reasons(ctx)
	if err == nil && r == nil {
		err = status.Errorf(codes.NotFound, "why %v waited is not kept any more", l.ID)
	}
	if err != nil {
		return nil, err
	}
	return restapi.ListReasons200JSONResponse{Body: *r}, nil
}

// wrongFile is why the file of the job can't be read; nil: no fault is known.
func (l *jobHandle) wrongFile() error {
	if status.Code(l.Damage) == codes.DataLoss {
		return l.Damage
	}
	return nil
}

// reasons are why the job waited; nil if that is not kept. Unreadable parts are noted in it.
func (l *jobHandle) reasons(ctx context.Context) (*restapi.ReasonList, error) {
	w, err := l.server.needs.History.Waits(ctx, l.ID)
	switch {
	case errors.Is(err, history.ErrUnknown):
		return nil, l.wrongFile()
	case errors.Is(err, history.ErrNotYet):
		w.Lacks = append(w.Lacks, err.Error())
	case err != nil:
		return nil, query.StatusOf(err)
	}
	x := restapi.ReasonList{Reasons: []restapi.Reason{}, Dropped: w.Dropped, Lacks: restapi.List(w.Lacks)}
	open := false // the last reason still applies
	for _, r := range w.List {
		at := restapi.TimeOf(max(r.At, 1))
		if open {
			x.Reasons[len(x.Reasons)-1].To = at
		}
		if open = r.Reason != ""; open {
			x.Reasons = append(x.Reasons, restapi.Reason{From: *at, Reason: r.Reason})
		}
	}
	if end := restapi.TimeOf(scheduler.Time(l.Status.GetSummary().GetEnded())); open && end != nil {
		x.Reasons[len(x.Reasons)-1].To = end
	}
	return &x, nil
}

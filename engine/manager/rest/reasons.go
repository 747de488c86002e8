package rest

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/history"
	"github.com/hamadryad/hamadryad/engine/manager/history/file"
	"github.com/hamadryad/hamadryad/engine/manager/rest/api"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ListReasons tells why a job waited, over time.
func (s *Server) ListReasons(ctx context.Context, q api.ListReasonsRequestObject) (api.ListReasonsResponseObject, error) {
	j, err := s.look(ctx, q.Job)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	w, err := s.needs.Kept.Waits(ctx, j.ID)
	var damaged *file.DamageError
	switch {
	case errors.Is(err, history.ErrUnknown):
		return nil, status.Errorf(codes.NotFound, "why %v waited is not kept any more", j.ID)
	case errors.As(err, &damaged):
		w.Lacks = append(w.Lacks, err.Error())
	case err != nil:
		return nil, err
	}
	l := api.ReasonList{Reasons: []api.Reason{}, Dropped: w.Dropped, Lacks: list(w.Lacks)}
	open := false // the last reason stands
	for _, x := range w.List {
		at := moment(max(x.At, 1))
		if open {
			l.Reasons[len(l.Reasons)-1].To = at
		}
		if open = x.Reason != ""; open {
			l.Reasons = append(l.Reasons, api.Reason{From: *at, Reason: x.Reason})
		}
	}
	if end := moment(scheduler.Time(j.Status.GetSummary().GetEnded())); open && end != nil {
		l.Reasons[len(l.Reasons)-1].To = end
	}
	return api.ListReasons200JSONResponse{Body: l}, nil
}

package rest

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest/request"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// rangesOf reads indices of a job array; nil: none are named.
func rangesOf(text *string) ([]*wire.ElementRange, error) {
	if text == nil {
		return nil, nil
	}
	ranges, err := wire.ParseElements(*text)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, "elements: "+err.Error())
	}
	return ranges, nil
}

// ofElements returns a function that reports whether an attempt is of some elements.
func (l *jobHandle) ofElements(text *string) (func(*changes.Attempt) bool, error) {
	ranges, err := rangesOf(text)
	if err != nil {
		return nil, err
	}
	e, err := l.ElementsOf()
	if err != nil {
		return nil, err
	}
	return e.Which(l.ID, ranges)
}

// RetryElements makes elements of a job array run again.
func (s *Server) RetryElements(ctx context.Context, q restapi.RetryElementsRequestObject) (restapi.RetryElementsResponseObject, error) {
	m := &wire.RetryRequest{Job: uint64(jobID(q.Job)), Principal: anonymous()}
	if q.Body != nil {
		var err error
		if m.Elements, err = rangesOf(q.Body.Elements); err != nil {
			return nil, err
		}
	}
	_, err := s.needs.Service.Retry(ctx, m)
	return restapi.RetryElements204Response{}, err
}

// ListElements lists elements of a job array, in order of their indices.
func (s *Server) ListElements(ctx context.Context, q restapi.ListElementsRequestObject) (restapi.ListElementsResponseObject, error) {
	p := &q.Params
	of := query.ElementQuery{Limit: request.LimitOf(p.Limit)}
	place, err := request.NumberOf(request.Elements, p.Cursor)
	if err != nil {
		return nil, err
	}
	if place > 0 {
		last := uint32(min(place-1, wire.ElementIndexMax))
		of.After = &last
	}
	if of.Among, err = rangesOf(p.Elements); err != nil {
		return nil, err
	}
	for state := range wire.ElementState_name {
		for _, word := range restapi.Each(p.State) {
			if restapi.ElementStateOf(wire.ElementState(state)) == word {
				of.States = append(of.States, wire.ElementState(state))
			}
		}
	}
	l, err := s.openJob(ctx, q.Job)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	list, more, lacks, err := l.Elements(ctx, of)
	if err != nil {
		return nil, err
	}
	page := restapi.ElementList{Elements: []restapi.Element{}, Truncated: more, Incomplete: restapi.Pointer(lacks)}
	for _, e := range list {
		page.Elements = append(page.Elements, restapi.ElementOf(e))
	}
	if more {
		page.Next = request.Cursor(request.Elements, request.Number(uint64(list[len(list)-1].Index)+1))
	}
	return restapi.ListElements200JSONResponse{Body: page}, nil
}

package rest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest/request"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// ListLaunchers lists launchers, by name.
func (s *Server) ListLaunchers(ctx context.Context, q restapi.ListLaunchersRequestObject) (restapi.ListLaunchersResponseObject, error) {
	p := &q.Params
	after, err := request.PlaceOf(request.Launchers, p.Cursor)
	if err != nil {
		return nil, err
	}
	r, err := s.needs.Service.Launchers(ctx, &wire.LaunchersRequest{})
	if err != nil {
		return nil, err
	}
	page := restapi.LauncherList{Launchers: []restapi.LauncherSummary{}}
	fit := slices.DeleteFunc(r.Launchers, func(l *wire.LauncherStatus) bool { return p.State != nil && l.State != string(*p.State) })
	slices.SortFunc(fit, func(x, y *wire.LauncherStatus) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Launcher, y.Launcher))
	})
	page.Total = len(fit)
	for _, l := range fit {
		switch n := len(page.Launchers); {
		case l.Name <= after: // each has a name
			continue
		case n == request.LimitOf(p.Limit):
			page.Truncated, page.Next = true, request.Cursor(request.Launchers, page.Launchers[n-1].Name)
			return restapi.ListLaunchers200JSONResponse{Body: page}, nil
		}
		page.Launchers = append(page.Launchers, restapi.LauncherOf(l))
	}
	return restapi.ListLaunchers200JSONResponse{Body: page}, nil
}

// GetCluster returns the cluster at a glance, with the jobs that the caller may look at.
func (s *Server) GetCluster(ctx context.Context, _ restapi.GetClusterRequestObject) (restapi.GetClusterResponseObject, error) {
	r, err := s.needs.Service.Launchers(ctx, &wire.LaunchersRequest{})
	if err != nil {
		return nil, err
	}
	jobs, err := s.needs.Read.List(ctx, query.Query{May: s.needs.Service.MayLook(ctx)})
	if err != nil {
		return nil, err
	}
	_, decides, err := s.needs.Read.Stats(ctx)
	if err != nil {
		return nil, err
	}
	tag, err := s.tag(ctx, clusterOperation, 0)
	c := restapi.Cluster{Revision: tag, LaunchersByState: map[string]int{}, JobsByState: map[string]int{}, PolicyDecides: decides != 0, History: s.history()}
	byKind := map[string]*restapi.Slots{}
	for _, l := range r.Launchers {
		c.LaunchersByState[l.State]++
		c.AttemptsRunning += int(l.Running)
		c.AttemptsSuspended += int(l.Suspended)
		if l.State == string(restapi.LauncherStateLost) {
			continue
		}
		for _, x := range restapi.SlotsOf(l.Slots, l.Free) {
			if byKind[x.Kind] == nil {
				byKind[x.Kind] = &restapi.Slots{Kind: x.Kind}
			}
			byKind[x.Kind].Total += x.Total
			byKind[x.Kind].Free += x.Free
		}
	}
	c.Slots = []restapi.Slots{}
	for _, x := range byKind {
		c.Slots = append(c.Slots, *x)
	}
	slices.SortFunc(c.Slots, func(x, y restapi.Slots) int { return cmp.Compare(x.Kind, y.Kind) })
	for state, n := range jobs.ByState {
		c.JobsByState[string(restapi.JobStateOf(state))] = n
	}
	return restapi.GetCluster200JSONResponse{Body: c}, err
}

// freedShown is for how long a removal of jobs for a full history disk is shown.
const freedShown = time.Hour

// history is its state.
func (s *Server) history() restapi.History {
	h := s.needs.Read.HistoryState()
	x := restapi.History{Jobs: h.Jobs, Bytes: h.Bytes, Missed: int64(h.Missed), RemovedForRoom: int64(h.Freed), Damaged: restapi.List(h.Damaged), TailsBytes: h.Tails.Bytes, TailsDropped: int64(h.Tails.Dropped)}
	if !h.FreedAt.IsZero() && time.Since(h.FreedAt) < freedShown {
		x.RemovedForRoomAt = restapi.Pointer(h.FreedAt.UTC())
	}
	if h.Tails.Err != nil {
		x.TailsWhy, x.TailsBehindSince = restapi.Pointer(h.Tails.Err.Error()), restapi.Pointer(h.Tails.Behind.UTC())
	}
	if !h.Behind.IsZero() {
		x.BehindSince = restapi.Pointer(h.Behind.UTC())
	}
	if h.Err != nil {
		x.Why = restapi.Pointer(h.Err.Error())
	}
	if c := h.Store; c != nil {
		x.StoreWaiting, x.StoreOlder = &c.Waiting, c.Older
		if c.Err != nil {
			x.StoreWhy, x.StoreBehindSince = restapi.Pointer(c.Err.Error()), restapi.Pointer(c.Behind.UTC())
		}
	}
	return x
}

// DrainLauncher stops new work on a launcher.
func (s *Server) DrainLauncher(ctx context.Context, q restapi.DrainLauncherRequestObject) (restapi.DrainLauncherResponseObject, error) {
	return restapi.DrainLauncher204Response{}, s.drain(ctx, q.Launcher, true)
}

// UndrainLauncher allows new work on a launcher again.
func (s *Server) UndrainLauncher(ctx context.Context, q restapi.UndrainLauncherRequestObject) (restapi.UndrainLauncherResponseObject, error) {
	return restapi.UndrainLauncher204Response{}, s.drain(ctx, q.Launcher, false)
}

func (s *Server) drain(ctx context.Context, name string, drain bool) error {
	_, err := s.needs.Service.Drain(ctx, &wire.DrainRequest{Launcher: name, Principal: anonymous(), Drain: drain})
	if status.Code(err) == codes.InvalidArgument { // there is none
		return status.Error(codes.NotFound, status.Convert(err).Message())
	}
	return err
}

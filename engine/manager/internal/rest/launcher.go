package rest

import (
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// GetLauncher describes a launcher.
func (s *Server) GetLauncher(ctx context.Context, q restapi.GetLauncherRequestObject) (restapi.GetLauncherResponseObject, error) {
	l, err := s.launcherOf(ctx, q.Launcher, &wire.LaunchersRequest{AttemptsOf: []string{q.Launcher}})
	if err != nil {
		return nil, err
	}
	return restapi.GetLauncher200JSONResponse{Body: restapi.LauncherDetailsOf(l)}, nil
}

// launcherOf finds a launcher by name. Of several with one name the last counts.
func (s *Server) launcherOf(ctx context.Context, name string, ask *wire.LaunchersRequest) (*wire.LauncherStatus, error) {
	r, err := s.needs.Service.Launchers(ctx, ask)
	if err != nil {
		return nil, err
	}
	for _, l := range slices.Backward(r.Launchers) {
		if l.Name == name {
			return l, nil
		}
	}
	return nil, status.Error(codes.NotFound, wire.NoLauncher(name))
}

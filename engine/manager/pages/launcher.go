package pages

import (
	"net/http"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/rest/api"
)

// launcherPage is about one launcher.
type launcherPage struct {
	api.LauncherDetails
	Drains bool // no new work comes
}

func (launcherPage) again() time.Duration { return loadAgain }

func (s *Server) launcher(r *http.Request) (string, any, error) {
	a, err := s.needs.Shown.GetLauncher(r.Context(), api.GetLauncherRequestObject{Launcher: r.PathValue("launcher")})
	if err != nil {
		return "", nil, err
	}
	p := launcherPage{LauncherDetails: a.(api.GetLauncher200JSONResponse).Body}
	p.Drains = p.State == api.LauncherStateDraining || p.State == api.LauncherStateDrained
	return "Launcher " + p.Name, p, nil
}

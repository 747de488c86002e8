package pages

import (
	"net/http"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// launcherPage is about one launcher.
type launcherPage struct {
	restapi.LauncherDetails
	Drains bool // no new work comes
}

func (launcherPage) refreshAfter() time.Duration { return loadAgain }

func (s *Server) launcher(r *http.Request) (string, any, error) {
	a, err := s.needs.Shown.GetLauncher(r.Context(), restapi.GetLauncherRequestObject{Launcher: r.PathValue("launcher")})
	if err != nil {
		return "", nil, err
	}
	p := launcherPage{LauncherDetails: a.(restapi.GetLauncher200JSONResponse).Body}
	p.Drains = p.State == restapi.LauncherStateDraining || p.State == restapi.LauncherStateDrained
	return "Launcher " + p.Name, p, nil
}

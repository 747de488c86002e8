package pages

import (
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/rest/api"
)

// addReasons adds why the job waited, over time, where that is kept.
func (s *Server) addReasons(r *http.Request, p *jobPage) error {
	a, err := s.needs.Shown.ListReasons(r.Context(), api.ListReasonsRequestObject{Job: p.ID})
	switch {
	case status.Code(err) == codes.NotFound:
		return nil
	case err != nil:
		return err
	}
	l := a.(api.ListReasons200JSONResponse).Body
	p.Reasons = &l
	return nil
}

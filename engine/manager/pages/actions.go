package pages

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/rest/api"
)

// formMax bounds what a form may bring, bytes.
const formMax = 16 << 10

// changed has something changed, and sends who asked back to a page.
func (s *Server) changed(do func(*http.Request) error, back string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, formMax)
		err := r.ParseForm()
		if err != nil {
			err = status.Error(codes.InvalidArgument, "the form can't be read: "+err.Error())
		} else {
			err = do(r)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		head(w)
		w.Header().Set("Location", strings.ReplaceAll(back, "{job}", url.PathEscape(r.PathValue("job"))))
		w.WriteHeader(http.StatusSeeOther)
	})
}

// textMax bounds each text of a form, bytes, as the REST interface's document does.
const textMax = 1024

// text is what a form's field says.
func text(r *http.Request, field string) (string, error) {
	value := r.PostFormValue(field)
	if len(value) > textMax || !utf8.ValidString(value) {
		return "", status.Errorf(codes.InvalidArgument, "%s: give it %d bytes of UTF-8 at most", field, textMax)
	}
	return value, nil
}

func (s *Server) kill(r *http.Request) error {
	reason, err := text(r, "reason")
	if err != nil {
		return err
	}
	_, err = s.needs.Shown.KillJob(r.Context(), api.KillJobRequestObject{Job: r.PathValue("job"), Body: &api.KillJobJSONRequestBody{Reason: &reason}})
	return err
}

// update moves a job, or changes its priority: what of the form is another than it was.
func (s *Server) update(r *http.Request) error {
	pool, err1 := text(r, "pool")
	priority, err2 := text(r, "priority")
	if err := cmp.Or(err1, err2); err != nil {
		return err
	}
	var q api.UpdateJobJSONRequestBody
	if pool != r.PostFormValue("was-pool") {
		q.Pool = &pool
	}
	if priority != r.PostFormValue("was-priority") {
		q.Priority = &priority
	}
	if q.Pool == nil && q.Priority == nil {
		return nil
	}
	_, err := s.needs.Shown.UpdateJob(r.Context(), api.UpdateJobRequestObject{Job: r.PathValue("job"), Body: &q})
	return err
}

func (s *Server) drain(r *http.Request) (err error) {
	name := r.PathValue("launcher")
	switch r.PostFormValue("do") {
	case "drain":
		_, err = s.needs.Shown.DrainLauncher(r.Context(), api.DrainLauncherRequestObject{Launcher: name})
	case "undrain":
		_, err = s.needs.Shown.UndrainLauncher(r.Context(), api.UndrainLauncherRequestObject{Launcher: name})
	default:
		err = status.Error(codes.InvalidArgument, "the form says neither drain nor undrain")
	}
	return err
}

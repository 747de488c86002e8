package pages

import (
	"cmp"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/rest"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest/request"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// formMax bounds a form's body, bytes.
const formMax = 16 << 10

// changed makes a change, and sends the browser back to a page.
func (s *Server) changed(do func(*http.Request) error, back string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := form(w, r, formMax)
		if err == nil {
			err = do(r)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		head(w)
		w.Header().Set("Location", strings.NewReplacer("{job}", url.PathEscape(r.PathValue("job")), "{schedule}", url.PathEscape(r.PathValue("schedule"))).Replace(back))
		w.WriteHeader(http.StatusSeeOther)
	})
}

// formType is the media type of the pages' forms.
const formType = "application/x-www-form-urlencoded"

// form reads a form of at most so many bytes. A program that sends another kind of body meant the
// REST interface, and its body would be ignored.
func form(w http.ResponseWriter, r *http.Request, most int64) error {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); r.ContentLength != 0 && kind != formType {
		return &request.Refusal{Code: http.StatusUnsupportedMediaType, Text: fmt.Sprintf("what came is %.64q, and this is for the pages' forms: programs ask below %s", r.Header.Get("Content-Type"), rest.Root)}
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	err := r.ParseForm()
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &request.Refusal{Code: http.StatusRequestEntityTooLarge, Text: fmt.Sprintf("the form is too large: it may have %d bytes", large.Limit)}
	case err != nil:
		return &request.Refusal{Code: http.StatusBadRequest, Text: "the form is not written as forms are: write %25 for a %, %3B for a semicolon and %26 for a &"}
	}
	return nil
}

// jobOf is the job of a form.
func jobOf(r *http.Request) (string, error) {
	if job := r.PathValue("job"); jobName.MatchString(job) {
		return job, nil
	}
	return "", status.Errorf(codes.NotFound, "%.64q is no job: one is called job-7, say", r.PathValue("job"))
}

// textMax bounds each text of a form, bytes, as the REST interface's document does.
const textMax = 1024

// text is the value of a form's field.
func text(r *http.Request, field string) (string, error) {
	value := r.PostFormValue(field)
	if len(value) > textMax || !utf8.ValidString(value) {
		return "", status.Errorf(codes.InvalidArgument, "%s: give it %d bytes of UTF-8 at most", field, textMax)
	}
	return value, nil
}

func (s *Server) kill(r *http.Request) error {
	job, err1 := jobOf(r)
	reason, err2 := text(r, "reason")
	named, err3 := text(r, "elements")
	if err := cmp.Or(err1, err2, err3); err != nil {
		return err
	}
	_, err := s.needs.Shown.KillJob(r.Context(), restapi.KillJobRequestObject{Job: job, Body: &restapi.KillJobJSONRequestBody{Reason: &reason, Elements: given(named)}})
	return err
}

// update moves a job, or changes its priority: the changed fields of the form.
func (s *Server) update(r *http.Request) error {
	job, err1 := jobOf(r)
	pool, err2 := text(r, "pool")
	priority, err3 := text(r, "priority")
	if err := cmp.Or(err1, err2, err3); err != nil {
		return err
	}
	var q restapi.UpdateJobJSONRequestBody
	if pool != r.PostFormValue("was-pool") {
		q.Pool = &pool
	}
	if priority != r.PostFormValue("was-priority") {
		q.Priority = &priority
	}
	if q.Pool == nil && q.Priority == nil {
		return nil
	}
	_, err := s.needs.Shown.UpdateJob(r.Context(), restapi.UpdateJobRequestObject{Job: job, Body: &q})
	return err
}

func (s *Server) drain(r *http.Request) (err error) {
	name := r.PathValue("launcher")
	switch r.PostFormValue("do") {
	case "drain":
		_, err = s.needs.Shown.DrainLauncher(r.Context(), restapi.DrainLauncherRequestObject{Launcher: name})
	case "undrain":
		_, err = s.needs.Shown.UndrainLauncher(r.Context(), restapi.UndrainLauncherRequestObject{Launcher: name})
	default:
		err = status.Error(codes.InvalidArgument, "the form says neither drain nor undrain")
	}
	return err
}

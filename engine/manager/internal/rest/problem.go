package rest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest/request"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// codesOfHTTP are the HTTP codes for errors of gRPC.
var codesOfHTTP = map[codes.Code]int{
	codes.InvalidArgument:    http.StatusBadRequest,
	codes.NotFound:           http.StatusNotFound,
	codes.PermissionDenied:   http.StatusForbidden,
	codes.Unauthenticated:    http.StatusUnauthorized,
	codes.FailedPrecondition: http.StatusConflict,
	codes.Aborted:            http.StatusPreconditionFailed, // it changed since it was read
	codes.DataLoss:           http.StatusGone,               // a file is damaged: a retry does not help
	codes.ResourceExhausted:  http.StatusServiceUnavailable,
	codes.Unavailable:        http.StatusServiceUnavailable,
	codes.DeadlineExceeded:   http.StatusGatewayTimeout,
	codes.Canceled:           499, // the client is gone
	codes.Unimplemented:      http.StatusNotImplemented,
}

// CodeOf is the code of HTTP for an error with a status of gRPC.
func CodeOf(err error) int {
	var wrong *request.Refusal
	if errors.As(err, &wrong) {
		return wrong.Code
	}
	if code, known := codesOfHTTP[status.Code(err)]; known {
		return code
	}
	return http.StatusInternalServerError
}

// Problem answers with an error, in the command line's words.
func Problem(w http.ResponseWriter, _ *http.Request, err error) {
	code := CodeOf(err)
	if code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	p := restapi.Problem{Status: code, Detail: status.Convert(err).Message()}
	var damage *jobfile.DamageError
	if errors.As(err, &damage) {
		p.Type, p.Title, p.File = damagedType, "A file of history is damaged", &damage.Path
	}
	writeProblem(w, p)
}

// damagedType is the type of a problem with a file of history, and links to its description in the
// document.
const damagedType = Root + "/openapi.yaml#/components/responses/Damaged"

// invalid answers a request that breaks the document. The audit gets the reason.
func (s *Server) invalid(w http.ResponseWriter, r *http.Request, err error) {
	code := http.StatusBadRequest
	var wrong *request.Refusal
	if errors.As(err, &wrong) {
		code = wrong.Code
	}
	s.needs.Failed(r.Context(), err)
	WriteProblem(w, code, err.Error())
}

// WriteProblem writes a problem (RFC 9457).
func WriteProblem(w http.ResponseWriter, code int, detail string) {
	writeProblem(w, restapi.Problem{Status: code, Detail: detail})
}

func writeProblem(w http.ResponseWriter, p restapi.Problem) {
	p.Type, p.Title = cmp.Or(p.Type, "about:blank"), cmp.Or(p.Title, http.StatusText(p.Status))
	text, _ := json.Marshal(p) // of strings and a number
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(text, '\n'))
}

// Below reports whether a path is one of the interface's.
func Below(path string) bool { return path == Root || strings.HasPrefix(path, Root+"/") }

// Routed is a mux whose own refusals are written by writeError: of unknown paths, and of methods
// that a path does not take.
func Routed(mux *http.ServeMux, writeError func(w http.ResponseWriter, r *http.Request, code int, why string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "" {
			w = &unrouted{w, r, writeError}
		}
		mux.ServeHTTP(w, r)
	})
}

// unrouted replaces a mux's plain text answers.
type unrouted struct {
	http.ResponseWriter
	r          *http.Request
	writeError func(w http.ResponseWriter, r *http.Request, code int, why string)
}

// WriteHeader gets the mux's own status: 404, or 405 with the allowed methods.
func (u *unrouted) WriteHeader(code int) {
	switch code {
	case http.StatusNotFound:
		see := "the first page leads to all that there are"
		if Below(u.r.URL.Path) {
			see = "see " + Root + "/openapi.yaml"
		}
		u.writeError(u.ResponseWriter, u.r, code, fmt.Sprintf("nothing is at %.256q: %s", u.r.URL.Path, see))
	case http.StatusMethodNotAllowed:
		u.writeError(u.ResponseWriter, u.r, code, fmt.Sprintf("%.256q does not take %.32q; it takes %s", u.r.URL.Path, u.r.Method, u.Header().Get("Allow")))
	default: // a redirection to the path in order
		u.ResponseWriter.WriteHeader(code)
	}
}

// Write leaves out the mux's text.
func (u *unrouted) Write(text []byte) (int, error) { return len(text), nil }

package rest

import (
	"encoding/json"
	"errors"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/rest/api"
)

// codesOfHTTP are what errors of gRPC are over HTTP.
var codesOfHTTP = map[codes.Code]int{
	codes.InvalidArgument:    http.StatusBadRequest,
	codes.NotFound:           http.StatusNotFound,
	codes.PermissionDenied:   http.StatusForbidden,
	codes.Unauthenticated:    http.StatusUnauthorized,
	codes.FailedPrecondition: http.StatusConflict,
	codes.Aborted:            http.StatusPreconditionFailed, // it changed since it was looked at
	codes.ResourceExhausted:  http.StatusServiceUnavailable,
	codes.Unavailable:        http.StatusServiceUnavailable,
	codes.DeadlineExceeded:   http.StatusGatewayTimeout,
	codes.Canceled:           499, // who asked is gone
	codes.Unimplemented:      http.StatusNotImplemented,
}

// CodeOf is the code of HTTP for an error with a status of gRPC.
func CodeOf(err error) int {
	if code, known := codesOfHTTP[status.Code(err)]; known {
		return code
	}
	return http.StatusInternalServerError
}

// Problem answers with an error, in the words that the command line has for it.
func Problem(w http.ResponseWriter, _ *http.Request, err error) {
	code := CodeOf(err)
	if code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	Tell(w, code, status.Convert(err).Message())
}

// invalid answers a request that is not as the document says.
func invalid(w http.ResponseWriter, _ *http.Request, err error) {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		Tell(w, http.StatusRequestEntityTooLarge, large.Error())
		return
	}
	Tell(w, http.StatusBadRequest, err.Error())
}

// Tell writes a problem (RFC 9457).
func Tell(w http.ResponseWriter, code int, detail string) {
	text, _ := json.Marshal(api.Problem{Type: "about:blank", Title: http.StatusText(code), Status: code, Detail: detail}) // of strings and a number
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(append(text, '\n'))
}

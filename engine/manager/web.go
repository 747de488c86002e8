package manager

import (
	"errors"
	"net/http"
	"runtime/debug"
	"strings"

	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/rest"
)

// panics logs a request that panicked. net/http survives that, and logs it among its
// messages about connections, which are for debugging.
func (m *manager) panics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			what := recover()
			if what == nil {
				return
			}
			if err, _ := what.(error); !errors.Is(err, http.ErrAbortHandler) { // the panic that cuts off an answer on purpose
				m.log.Error("a request found a mistake in the manager's program, and got no answer: report it", "method", r.Method, "path", r.URL.Path, "error", what, "stack", string(debug.Stack()))
			}
			panic(http.ErrAbortHandler)
		}()
		next.ServeHTTP(w, r)
	})
}

// refuseWeb answers a request that the caller has no right to make.
func (m *manager) refuseWeb(w http.ResponseWriter, r *http.Request, err error) {
	if rest.Below(r.URL.Path) {
		rest.Problem(w, r, err)
		return
	}
	m.writeWebError(w, r, rest.CodeOf(err), status.Convert(err).Message())
}

// writeWebError answers a failed HTTP request: as a problem below the REST interface or for a
// caller that accepts JSON, as a page for a browser, and in plain text for all others.
func (m *manager) writeWebError(w http.ResponseWriter, r *http.Request, code int, why string) {
	if rest.Below(r.URL.Path) {
		rest.WriteProblem(w, code, why)
		return
	}
	w.Header().Add("Vary", "Accept")
	switch kind := accepted(r.Header.Values("Accept")); {
	case strings.HasSuffix(kind, "json"):
		rest.WriteProblem(w, code, why)
	case kind != "":
		m.pages.WriteError(w, r, code, why)
	default:
		http.Error(w, why, code)
	}
}

// accepted is the first type of an answer that the caller accepts by name and that exists; "":
// none.
func accepted(accept []string) string {
	for _, one := range strings.Split(strings.Join(accept, ","), ",") {
		kind, _, _ := strings.Cut(one, ";")
		switch kind = strings.ToLower(strings.TrimSpace(kind)); kind {
		case "text/html", "application/xhtml+xml", "application/json", "application/problem+json":
			return kind
		}
	}
	return ""
}

package authz

import (
	"net/http"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
)

// AuditPages stands before the authentication of callers for pages, as AuditUnary does for calls.
func (g *Guard) AuditPages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, e := audit.BeginEntry(r.Context(), g.log, audit.Line{Proof: auth.Unproven, Address: r.RemoteAddr, Method: r.Method, What: r.URL.EscapedPath()})
		answer := &page{ResponseWriter: w, entry: e}
		next.ServeHTTP(answer, r.WithContext(ctx))
		answer.recordResult(http.StatusOK) // of a handler that wrote nothing
	})
}

// Page lets those callers call a handler whom the rule of a pattern allows. Others get an answer
// from writeError, with the reason.
func (g *Guard) Page(pattern string, handler http.Handler, writeError func(http.ResponseWriter, *http.Request, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, err := g.admit(r.Context(), access.ManagerRoute(pattern), r.Header.Get(auth.ActsForKey))
		if err != nil {
			_ = audit.Of(ctx).End(err) // it is kept, and the log says so
			writeError(w, r, err)
			return
		}
		handler.ServeHTTP(w, r.WithContext(ctx))
	})
}

// page has the audit written before the first byte of the answer.
type page struct {
	http.ResponseWriter
	entry    *audit.Entry
	recorded bool
}

// Unwrap is for http.ResponseController.
func (p *page) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *page) WriteHeader(code int) {
	if code >= http.StatusOK { // codes below are only informational
		p.recordResult(code)
	}
	p.ResponseWriter.WriteHeader(code)
}

func (p *page) Write(b []byte) (int, error) {
	p.recordResult(http.StatusOK)
	return p.ResponseWriter.Write(b)
}

func (p *page) recordResult(code int) {
	if p.recorded {
		return
	}
	p.recorded = true
	result, why := audit.Done, ""
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		result, why = audit.Refused, http.StatusText(code)
	case code >= http.StatusBadRequest:
		result, why = audit.Failed, http.StatusText(code)
	}
	_ = p.entry.EndAs(result, why) // it is kept, and the log says so
}

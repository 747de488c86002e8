// Package health serves liveness and readiness probes, such as those of Kubernetes.
//
//	mux.Handle("GET /readyz", health.Page("readyz", health.Check{Name: "manager", Wrong: connected}))
//
// A page answers 200 and "ok", or 503 and one line for each problem. With ?verbose each check has a
// line, in Kubernetes' form.
package health

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// Check is one condition to check.
type Check struct {
	Name  string
	Wrong func(context.Context) error // nil: healthy; called for each request, on its goroutine
	// Note is a remark that ?verbose adds to a healthy check; nil or "": none. It is called as
	// Wrong is.
	Note func(context.Context) string
}

// note is the remark behind "ok".
func (c Check) note(ctx context.Context) string {
	if c.Note == nil {
		return ""
	}
	if text := oneLine(c.Note(ctx)); text != "" {
		return ": " + text
	}
	return ""
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Page is the page of a name, such as "readyz". Without checks it answers "ok".
func Page(name string, checks ...Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var brief, verbose strings.Builder
		for _, c := range checks {
			err := c.Wrong(r.Context())
			if err == nil {
				fmt.Fprintf(&verbose, "[+]%s ok%s\n", c.Name, c.note(r.Context()))
				continue
			}
			text := oneLine(err.Error())
			fmt.Fprintf(&verbose, "[-]%s failed: %s\n", c.Name, text)
			fmt.Fprintln(&brief, text)
		}
		code, word, answer := http.StatusOK, "passed", "ok\n"
		if brief.Len() > 0 {
			code, word, answer = http.StatusServiceUnavailable, "failed", brief.String()
		}
		if r.URL.Query().Has("verbose") {
			answer = fmt.Sprintf("%s%s check %s\n", verbose.String(), name, word)
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(code)
		fmt.Fprint(w, answer)
	})
}

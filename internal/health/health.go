// Package health answers those who watch processes, such as Kubernetes: whether a process
// lives, and whether it can do its work.
//
//	mux.Handle("GET /readyz", health.Page("readyz", health.Check{Name: "manager", Wrong: connected}))
//
// A page answers 200 and "ok", or 503 and what is wrong, a line each. With ?verbose each check
// has a line, in the form that those of Kubernetes have.
package health

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// Check is one thing that may be wrong.
type Check struct {
	Name  string
	Wrong func(context.Context) error // nil: nothing is; called for each request, on its goroutine
	// Note is what ?verbose says of it besides, although nothing is wrong; nil or "": nothing. It is
	// called as Wrong is.
	Note func(context.Context) string
}

// note is what is said of it behind "ok".
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

// Page is the page of a name, such as "readyz". Without checks it says that the process answers.
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

package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/auth/certs/certstest"
)

// The manager reads logs from launchers at addresses of their choosing. It accepts answers of that
// launcher alone, with a proved name: not those behind a redirect, of another launcher, or without
// a certificate.
func TestLogsAreTheLaunchersOwn(t *testing.T) {
	ca := certstest.New(t)
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "a secret of the manager's network")
	}))
	defer inside.Close()
	serve := func(keys *certs.Keys, answer http.HandlerFunc) string {
		s := httptest.NewUnstartedServer(answer)
		s.TLS = keys.Server(auth.Manager)
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.URL
	}
	plain := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "its log") }
	l1, l2 := ca.Keys(auth.Launcher, "l1"), ca.Keys(auth.Launcher, "l2")
	for _, c := range []struct {
		name, url, want string
		closed          bool // access control is on
	}{
		{"its own", serve(l1, plain), "", true},
		{"a redirect", serve(l1, http.RedirectHandler(inside.URL, http.StatusFound).ServeHTTP), "302", true},
		{"another launcher's", serve(l2, plain), "is not launcher l1", true},
		{"a user's", serve(ca.Keys(auth.User, "l1"), plain), "certificate refused", true},
		{"no certificate", inside.URL, "shows no certificate", true},
		{"a redirect without access control", httptest.NewServer(http.RedirectHandler(inside.URL, http.StatusFound)).URL, "302", false},
	} {
		needs := Needs{}
		if c.closed {
			needs.Keys = ca.Keys(auth.Manager, "m")
		}
		s := &Server{needs: needs, http: newHTTPClient(needs.Keys)}
		var said strings.Builder
		answer, err := s.ask(t.Context(), "l1", c.url)
		if err == nil {
			_, err = io.Copy(&said, answer.Body)
			answer.Body.Close()
		}
		s.Close()
		switch {
		case c.want == "" && (err != nil || said.String() != "its log"):
			t.Errorf("%s: %v, %q", c.name, err, &said)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || said.Len() > 0):
			t.Errorf("%s: %v, and %q was told; want %q", c.name, err, &said, c.want)
		}
	}
}

// The last lines of a text are the complete ones, and an unfinished one.
func TestLastLines(t *testing.T) {
	for _, c := range []struct {
		text  string
		lines int
		want  string
	}{
		{"", 1, ""}, {"a", 1, "a"}, {"a\n", 1, "a\n"}, {"a\nb\n", 1, "b\n"}, {"a\nb", 1, "b"}, {"a\nb\nc\n", 2, "b\nc\n"}, {"a\nb\n", 9, "a\nb\n"}, {"a\n\n", 1, "\n"}, {"\n", 1, "\n"},
	} {
		if got := string(lastLines([]byte(c.text), c.lines)); got != c.want {
			t.Errorf("the last %d of %q are %q, want %q", c.lines, c.text, got, c.want)
		}
	}
}

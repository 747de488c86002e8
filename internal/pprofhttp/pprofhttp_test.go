package pprofhttp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// ask asks for a page of profiles.
func ask(from, host, page string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, root+page, nil)
	r.RemoteAddr, r.Host = from, host
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w
}

// Only direct requests from this machine, to one of its local names, see profiles; all others get
// the reason.
func TestWhoSeesProfiles(t *testing.T) {
	for _, c := range []struct {
		from, host string
		header     []string
		refused    string // part of the reason; "": it is answered
	}{
		{"127.0.0.1:4000", "localhost:7071", nil, ""},
		{"127.8.9.1:4000", "LOCALHOST", nil, ""},
		{"[::1]:4000", "[::1]:7071", nil, ""},
		{"[::1]:4000", "[::1]", nil, ""},
		{"[::ffff:127.0.0.1]:4000", "127.0.0.1", []string{"Sec-Fetch-Site", "none"}, ""},
		{"10.0.0.2:4000", "localhost:7071", nil, "came from 10.0.0.2"},
		{"", "localhost:7071", nil, "came from"},
		{"@", "localhost:7071", nil, "came from"},
		{"127.0.0.1:4000", "manager.example:7071", nil, `names the host "manager.example:7071"`},
		{"127.0.0.1:4000", "localhost.evil.example", nil, "names the host"},
		{"127.0.0.1:4000", "127.0.0.1.evil.example:7071", nil, "names the host"},
		{"127.0.0.1:4000", "0.0.0.0:7071", nil, "names the host"},
		{"127.0.0.1:4000", "", nil, "names the host"},
		{"127.0.0.1:4000", "localhost", []string{"X-Forwarded-For", "10.0.0.2"}, "through a proxy"},
		{"127.0.0.1:4000", "localhost", []string{"Via", "1.1 gate"}, "through a proxy"},
		{"127.0.0.1:4000", "localhost", []string{"Sec-Fetch-Site", "cross-site"}, "another site's page"},
	} {
		w := ask(c.from, c.host, "goroutine?debug=1", c.header...)
		if c.refused == "" {
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "TestWhoSeesProfiles") {
				t.Errorf("from %q for %q: %d %.200q", c.from, c.host, w.Code, w.Body)
			}
			continue
		}
		if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), c.refused) {
			t.Errorf("from %q for %q, %v: %d %.200q, want refused: %s", c.from, c.host, c.header, w.Code, w.Body, c.refused)
		}
	}
}

func TestWhichPagesThereAre(t *testing.T) {
	for page, want := range map[string]int{
		"": 200, "heap": 200, "symbol": 200, "cmdline": 404, "nonsense": 404,
		"profile?seconds=301": 400, "heap?seconds=-1": 400, "trace?seconds=0.5": 400, "profile?seconds=x": 400,
	} {
		if w := ask("127.0.0.1:1", "localhost", page); w.Code != want {
			t.Errorf("%s: %d %.200q, want %d", page, w.Code, w.Body, want)
		}
	}
}

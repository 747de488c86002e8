package authz

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// A path that is not valid text is refused with that reason.
func TestPathsThatAreNoTextAreRefused(t *testing.T) {
	guarded := GuardPages(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}), PageOptions{Actions: true})
	for target, want := range map[string]int{
		"/launchers/%ff/drain": 400, "/%c3%28/x": 400, "/x/%e2%82": 400, "/launchers/%e2%82%ac": 200, "/x?name=%ff": 200,
	} {
		r := httptest.NewRequest("PUT", "http://127.0.0.1"+target, nil)
		answer := httptest.NewRecorder()
		if guarded.ServeHTTP(answer, r); answer.Code != want {
			t.Errorf("%s: %d, want %d", target, answer.Code, want)
		}
	}
}

// A browser led here by another site is refused; a direct visit is not.
func TestWhoIsLedHereIsRefused(t *testing.T) {
	usual := PageOptions{Hosts: []string{"manager.example.org"}, Actions: true, Open: []string{"/metrics"}}
	off, unproven := usual, usual
	off.Actions, unproven.Unproven = false, true
	const all = "GET HEAD POST PUT PATCH DELETE"
	for _, x := range []struct {
		name           string
		o              PageOptions
		path, host     string
		from           string
		headers        [2]string
		passes         string
		whyOthersDoNot string
	}{
		{"the command line", usual, "/x", "127.0.0.1:8080", "", [2]string{}, all, ""},
		{"by IPv6", usual, "/x", "[::1]:8080", "", [2]string{}, all, ""},
		{"by localhost", usual, "/x", "LocalHost.:8080", "", [2]string{}, all, ""},
		{"by its name", usual, "/x", "Manager.Example.Org", "", [2]string{}, all, ""},
		{"by a name made to lead here", usual, "/x", "evil.example:8080", "", [2]string{}, "", "nobody said that this manager is called"},
		{"by a name that ends like it", usual, "/x", "evil-manager.example.org", "", [2]string{}, "", "nobody said"},
		{"by no name", usual, "/x", "", "", [2]string{}, "", "nobody said"},
		{"programs by any name", usual, "/metrics", "m1.monitoring", "", [2]string{}, all, ""},
		{"its own page", usual, "/x", "manager.example.org", "", [2]string{"Sec-Fetch-Site", "same-origin"}, all, ""},
		{"its own page, of an old browser", usual, "/x", "manager.example.org", "", [2]string{"Origin", "https://manager.example.org"}, all, ""},
		{"a page of another site", usual, "/x", "manager.example.org", "", [2]string{"Sec-Fetch-Site", "cross-site"}, "GET HEAD", "a page of another site"},
		{"a page of a neighbour", usual, "/x", "manager.example.org", "", [2]string{"Sec-Fetch-Site", "same-site"}, "GET HEAD", "a page of another site"},
		{"a page of another port", usual, "/x", "127.0.0.1:8080", "", [2]string{"Origin", "http://127.0.0.1:9090"}, "GET HEAD", "a page of another site"},
		{"a page without an origin", usual, "/x", "127.0.0.1:8080", "", [2]string{"Origin", "null"}, "GET HEAD", "a page of another site"},
		{"actions are off", off, "/x", "127.0.0.1", "", [2]string{}, "GET HEAD", "manager.web.actions is off"},
		{"nothing proves who asks, here", unproven, "/x", "127.0.0.1", "127.0.0.1:999", [2]string{}, all, ""},
		{"nothing proves who asks, here by IPv6", unproven, "/x", "127.0.0.1", "[::ffff:127.0.0.1]:999", [2]string{}, all, ""},
		{"nothing proves who asks, there", unproven, "/x", "127.0.0.1", "10.0.0.7:999", [2]string{}, "GET HEAD", "only this machine changes"},
		{"nothing proves who asks, from nowhere", unproven, "/x", "127.0.0.1", "@", [2]string{}, "GET HEAD", "only this machine changes"},
	} {
		asked := 0
		guarded := GuardPages(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }), x.o)
		for method := range strings.FieldsSeq(all) {
			r := httptest.NewRequest(method, x.path, nil)
			r.Host = x.host
			if x.from != "" {
				r.RemoteAddr = x.from
			}
			if x.headers[0] != "" {
				r.Header.Set(x.headers[0], x.headers[1])
			}
			before, answer := asked, httptest.NewRecorder()
			guarded.ServeHTTP(answer, r)
			passes := strings.Contains(x.passes, method)
			if passes != (asked > before) || passes != (answer.Code == http.StatusOK) || !passes && !strings.Contains(answer.Body.String(), x.whyOthersDoNot) {
				t.Errorf("%s, %s: %d %s", x.name, method, answer.Code, answer.Body)
			}
		}
	}
}

// The machine's full name is its own once it is known, and no other name is.
func TestTheFullName(t *testing.T) {
	own := &HostNames{}
	asks := func(host string) int {
		r := httptest.NewRequest("GET", "http://"+host+":7071/", nil)
		answer := httptest.NewRecorder()
		GuardPages(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), PageOptions{Own: own}).ServeHTTP(answer, r)
		return answer.Code
	}
	if code := asks("m1.example.org"); code != http.StatusForbidden {
		t.Errorf("before it is known: %d", code)
	}
	own.Find(t.Context(), func(context.Context, string) (string, error) { return "", errors.New("nobody answers") })
	if code := asks("m1.example.org"); code != http.StatusForbidden {
		t.Errorf("when it can't be known: %d", code)
	}
	own.Find(t.Context(), func(_ context.Context, host string) (string, error) {
		if short, err := os.Hostname(); err != nil || host != short {
			t.Errorf("asked is for %q (%v)", host, err)
		}
		return "M1.example.org.", nil
	})
	if code := asks("m1.example.org"); code != http.StatusOK {
		t.Errorf("when it is known: %d", code)
	}
	if code := asks("m1.example.org.evil.example"); code != http.StatusForbidden {
		t.Errorf("another: %d", code)
	}
}

package manager

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs/certstest"
	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// restAs sends a request with a user's certificate, and returns the code and the problem's text.
func (r *ruled) restAs(name, method, path, body string, header ...string) (int, string) {
	r.t.Helper()
	var p struct{ Detail string }
	code := r.askAs(name, method, path, body, &p, header...)
	return code, p.Detail
}

// readAs reads something with a user's certificate, and returns the code.
func (r *ruled) readAs(name, path string, into any) int {
	r.t.Helper()
	return r.askAs(name, http.MethodGet, path, "", into)
}

func (r *ruled) askAs(name, method, path, body string, into any, header ...string) int {
	r.t.Helper()
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: r.ca.Keys(auth.User, name).Client(auth.Manager, ""), DisableKeepAlives: true}}
	q, err := http.NewRequestWithContext(r.ctx(), method, "https://"+r.http+rest.Root+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		if q.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			q.Host = header[i+1]
		}
	}
	answer, err := web.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	_ = json.NewDecoder(answer.Body).Decode(into) // what was done has no body
	return answer.StatusCode
}

// A change over HTTP gets the same answer as over gRPC, in the same words, and the audit has it.
func TestHTTPKeepsToTheSameRules(t *testing.T) {
	r := newRuled(t)
	r.allowed(r.joinWith(r.ca.Keys(auth.Launcher, "l1"), "l1"))
	job := r.who("ann").submit(2)
	path := fmt.Sprintf("/jobs/job-%d", job)
	pool, drain := "closed", &wire.DrainRequest{Launcher: "l1", Drain: true}
	type ask struct {
		method, path, body string
		over               func() error
	}
	asks := []ask{
		{"PATCH", path, `{"pool":"closed"}`, func() error { _, err := r.api.Update(r.ctx(), &wire.UpdateRequest{Job: job, Pool: &pool}); return err }},
		{"PUT", "/launchers/l1/drain", "", func() error { _, err := r.api.Drain(r.ctx(), drain); return err }},
		{"GET", path, "", func() error { _, err := r.api.Status(r.ctx(), &wire.StatusRequest{Job: job}); return err }},
		{"GET", "/settings", "", func() error { _, err := r.api.Settings(r.ctx(), &wire.Empty{}); return err }},
		{"GET", "/settings/versions", "", func() error { _, err := r.api.SettingsVersions(r.ctx(), &wire.VersionsRequest{}); return err }},
	}
	for _, name := range []string{"ann", "bob", "carol", "dora", "eve", "olga", "root", "nobody"} {
		for _, a := range asks {
			code, detail := r.restAs(name, a.method, a.path, a.body)
			said := r.audited()[len(r.audited())-1]
			r.who(name)
			err := a.over()
			want := status.Convert(err).Message()
			switch {
			case err == nil && code >= 300, err != nil && (code != http.StatusForbidden || detail != want):
				t.Errorf("%s %s as %s: %d %q, and over gRPC: %v", a.method, a.path, name, code, detail, err)
			case err != nil && (said.Result != audit.Refused || said.Why != want || said.Who != name || said.Method != a.method):
				t.Errorf("%s %s as %s: the audit says %+v", a.method, a.path, name, said)
			}
		}
	}
	for header, want := range map[[2]string]string{
		{"Origin", "https://evil.example"}: "a page of another site",
		{"Sec-Fetch-Site", "cross-site"}:   "a page of another site",
		{"Host", "evil.example"}:           "nobody said that this manager is called",
	} {
		for _, a := range append(slices.Clone(asks), ask{"PUT", "/settings", `{"text":""}`, nil}, ask{"POST", "/settings/check", `{"text":""}`, nil}, ask{"POST", "/settings/versions/1/rollback", "", nil}) {
			if a.method == http.MethodGet && header[0] != "Host" {
				continue
			}
			code, _ := r.restAs("root", a.method, a.path, a.body, header[0], header[1])
			if said := r.audited()[len(r.audited())-1]; code != http.StatusForbidden || said.Result != audit.Refused || !strings.Contains(said.Why, want) {
				t.Errorf("%v: %s %s: %d, and the audit says %+v", header, a.method, a.path, code, said)
			}
		}
	}
	if code, detail := r.restAs("ann", "POST", path+"/kill", `{"reason":"a whim"}`); code != http.StatusNoContent {
		t.Fatalf("%d %s", code, detail)
	}
	if said := r.audited()[len(r.audited())-1]; said.Who != "ann" || said.Before != "running" || said.After != "killed" || said.Result != audit.Done || said.What != rest.Root+path+"/kill" {
		t.Errorf("the audit says %+v", said)
	}
	if st, err := r.who("root").api.Status(r.ctx(), &wire.StatusRequest{Job: job}); err != nil || !strings.Contains(st.GetFailure().GetMessage(), "killed by ann: a whim") {
		t.Errorf("the job says %v (%v)", st.GetFailure(), err)
	}
}

// Schedules over HTTP keep to the rules of the command line: each user has its own, administrators
// change those of others, and who may look at everything sees them.
func TestSchedulesOverHTTP(t *testing.T) {
	r := newRuled(t)
	r.who("ann")
	nightly := `{"cron": "30 2 * * *", "zone": "Europe/Berlin", "command": ["./report.sh"], "folder": "/home/ann"}`
	for _, x := range []struct {
		as, method, path, body string
		code                   int
		says                   string
	}{
		{"ann", "PUT", "/schedules/ann/nightly", nightly, 204, ""},
		{"ann", "PUT", "/schedules/ann/nightly", strings.Replace(nightly, "30 2", "0 3", 1), 204, ""},
		{"ann", "PUT", "/schedules/ann/odd", strings.Replace(nightly, "30 2", "99 2", 1), 400, "can't be read"},
		{"ann", "PUT", "/schedules/ann/odd", strings.Replace(nightly, "Berlin", "Nowhere", 1), 400, "there is none of that name"},
		{"ann", "PUT", "/schedules/ann/odd", strings.Replace(nightly, `"/home/ann"`, `"ann"`, 1), 400, "is not absolute"},
		{"ann", "PUT", "/schedules/ann/odd", strings.Replace(nightly, `"folder"`, `"startDeadlineSeconds": 1e300, "folder"`, 1), 400, "startDeadlineSeconds"},
		{"ann", "PUT", "/schedules/ann/odd", strings.Replace(nightly, `"zone"`, `"timezone"`, 1), 400, "timezone"},
		{"ann", "PUT", "/schedules/ann/a%20b", nightly, 400, "can't name a schedule"},
		{"ann", "PUT", "/schedules/bob/nightly", nightly, 403, `you are "ann"`},
		{"ann", "GET", "/schedules/ann/nightly", "", 200, ""},
		{"ann", "GET", "/schedules/ann/none", "", 404, `user "ann" has no schedule "none"`},
		{"bob", "GET", "/schedules/ann/nightly", "", 403, "bob may list its own schedules alone"},
		{"bob", "DELETE", "/schedules/ann/nightly", "", 403, "bob may list its own schedules alone"},
		{"olga", "GET", "/schedules/ann/nightly", "", 200, ""},
		{"ann", "PUT", "/schedules/ann/nightly/pause", "", 204, ""},
		{"ann", "DELETE", "/schedules/ann/nightly/pause", "", 204, ""},
		{"ann", "POST", "/schedules/ann/nightly/run", "", 204, ""},
		{"ann", "POST", "/schedules/ann/nightly/run", "", 400, "run 1 has not ended"},
		{"root", "PUT", "/schedules/ann/nightly/pause", "", 204, ""},
		{"root", "DELETE", "/schedules/ann/nightly", "", 204, ""},
		{"root", "DELETE", "/schedules/ann/nightly", "", 404, "has no schedule"},
	} {
		code, detail := r.restAs(x.as, x.method, x.path, x.body)
		if code != x.code || !strings.Contains(detail, x.says) {
			t.Errorf("%s %s as %s: %d %q, want %d %q", x.method, x.path, x.as, code, detail, x.code, x.says)
		}
		if x.code == 204 {
			if said := r.audited()[len(r.audited())-1]; said.Who != x.as || said.Result != audit.Done {
				t.Errorf("%s %s as %s: the audit says %+v", x.method, x.path, x.as, said)
			}
		}
	}
}

// A user sees what it may have, and has. Who may look at everything sees all users.
func TestUsersOverHTTP(t *testing.T) {
	b := newTestbed(t)
	b.cfg.Core.UserLimits = core.UserLimits{Each: core.UserLimit{Jobs: 9, Slots: 2}}
	r := newRuledOn(t, b)
	r.allowed(r.joinWith(r.ca.Keys(auth.Launcher, "l1"), "l1"))
	for _, user := range []string{"ann", "ann", "carol"} {
		r.who(user).submit(3)
	}
	for as, want := range map[string][]string{"ann": {"ann"}, "bob": nil, "olga": {"ann", "carol"}, "eve": {"ann", "carol"}, "root": {"ann", "carol"}} {
		var list restapi.UserList
		if code := r.readAs(as, "/users", &list); code != http.StatusOK || list.Total != len(want) {
			t.Errorf("as %s: %d %+v", as, code, list)
		}
		for i, u := range list.Users {
			if u.Name != want[i] || u.Jobs.Limit != 9 || u.Slots.Limit != 2 || u.Slots.Held > 2 || u.Jobs.Held != map[string]int64{"ann": 2, "carol": 1}[u.Name] {
				t.Errorf("as %s: %s has %+v jobs and %+v slots", as, u.Name, u.Jobs, u.Slots)
			}
		}
	}
	if code := r.readAs("nobody", "/users", &restapi.UserList{}); code != http.StatusForbidden {
		t.Errorf("somebody without a role: %d", code)
	}
	set := r.cfg.Core
	set.UserLimits = core.UserLimits{}
	r.updates <- Update{Core: set, Policy: r.cfg.Policy}
	eventually(t, "no user has a limit", func() bool {
		var list restapi.UserList
		return r.readAs("root", "/users", &list) == http.StatusOK && list.Total == 0
	})
}

// Without authentication a schedule is that of the user whom its path names. Lists turn their pages.
func TestListsOfSchedules(t *testing.T) {
	b := newTestbed(t)
	b.start()
	definition := map[string]any{"cron": "30 2 * * *", "zone": "Europe/Berlin", "command": []string{"./report.sh"}, "folder": "/"}
	for _, path := range []string{"/schedules/ann/b", "/schedules/bob/a", "/schedules/ann/a"} {
		if a := b.rest(http.MethodPut, path, definition, ""); a.code != http.StatusNoContent {
			t.Fatalf("%d %s", a.code, a.text)
		}
	}
	names, path := "", "/schedules?limit=2"
	for range 2 {
		var list restapi.ScheduleList
		if err := json.Unmarshal(b.rest(http.MethodGet, path, nil, "").text, &list); err != nil || list.Total != 3 {
			t.Fatalf("%+v %v", list, err)
		}
		for _, x := range list.Schedules {
			names += x.Owner + "/" + x.Name + " "
			if _, offset := x.Next[0].Zone(); x.Next[0].Format("15:04") != "02:30" || offset == 0 {
				t.Errorf("the next due time is %v", x.Next)
			}
		}
		if list.Next != nil {
			path = "/schedules?limit=2&cursor=" + url.QueryEscape(*list.Next)
		}
	}
	if names != "ann/a ann/b bob/a " {
		t.Errorf("the pages have %s", names)
	}
	if _, page := b.page("/schedules?owner=bob"); strings.Count(page, `href="./schedules/`) != 1 {
		t.Errorf("the page of bob's has\n%s", page)
	}
}

// A request that panics is logged; one whose answer is aborted on purpose is not.
func TestRequestsThatPanicAreTold(t *testing.T) {
	out := &proctest.Output{}
	m := &manager{log: slog.New(slog.NewTextHandler(out, nil))}
	for what, told := range map[error]bool{errors.New("index out of range"): true, http.ErrAbortHandler: false} {
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
					t.Errorf("the server gets %v", err)
				}
			}()
			m.panics(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(what) })).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/jobs", nil))
		}()
		if text := out.String(); strings.Contains(text, what.Error()) != told || told && !strings.Contains(text, "path=/jobs") {
			t.Errorf("of %v the log says %q", what, text)
		}
	}
}

// Where nothing is to be changed over HTTP nothing is.
func TestActionsOff(t *testing.T) {
	b := newTestbed(t)
	b.cfg.WebActionsOff = true
	r := newRuledOn(t, b)
	job := r.who("ann").submit(1)
	path := fmt.Sprintf("/jobs/job-%d", job)
	for method, path := range map[string]string{"PATCH": path, "POST": path + "/kill", "PUT": "/launchers/l1/drain", "DELETE": "/launchers/l1/drain"} {
		code, _ := r.restAs("root", method, path, "")
		if said := r.audited()[len(r.audited())-1]; code != http.StatusForbidden || !strings.Contains(said.Why, "manager.web.actions is off") {
			t.Errorf("%s %s: %d, and the audit says %+v", method, path, code, said)
		}
	}
	r.allowed(r.kill(job))
}

// A browser that knows the cluster's CA alone accepts the manager where its certificate says that it
// is reached, also by one that came while the manager runs, and the pages are let through under that
// name.
func TestPagesWhereTheCertificateSays(t *testing.T) {
	r := newRuled(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(r.ca.Text())
	files := r.ca.Files(auth.User, "root")
	own, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(host string) (int, error) {
		web := &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{own}}, DisableKeepAlives: true,
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, r.http)
			},
		}}
		q, err := http.NewRequestWithContext(r.ctx(), http.MethodGet, "https://"+host+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := web.Do(q)
		if err != nil {
			return 0, err
		}
		answer.Body.Close()
		return answer.StatusCode, nil
	}
	hosts := []string{"manager.example.org", "10.7.0.1:7071", "[2001:db8::7]"}
	for _, host := range hosts {
		if code, err := ask(host); err == nil || !strings.Contains(err.Error(), "certificate is") {
			t.Errorf("%s, before it was said: %d, %v", host, code, err)
		}
	}
	at, err := r.ca.At([]string{"manager.example.org", "10.7.0.1", "2001:db8::7"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := at.Write(filepath.Join(r.ca.Folder, string(auth.Manager)), auth.Identity{Cluster: certstest.Cluster, Kind: auth.Manager, Name: "m"}, time.Now(), time.Hour); err != nil {
		t.Fatal(err)
	}
	r.cfg.Keys.LookAgain()
	for _, host := range append(hosts, "127.0.0.1", "localhost", "m") {
		if code, err := ask(host); code != http.StatusOK {
			t.Errorf("%s: %d, %v", host, code, err)
		}
	}
}

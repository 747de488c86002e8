package manager

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// walk asks for all that stands in the table of rules, as people of one role each. So many requests
// are one person's, from one address: of more that are refused the audit has no lines of their own.
type walk struct {
	*ruled
	asked int
	keys  *certs.Keys
	from  *net.TCPAddr
}

const walkOfOne = 15

// next chooses the next caller, and returns the name.
func (w *walk) next(role access.Role) string {
	w.t.Helper()
	n := w.asked/walkOfOne + 2
	w.asked++
	name := fmt.Sprintf("%s-%d", role, n)
	if w.keys == nil || w.keys.Identity().Name != name {
		w.keys = w.ca.KeysIn(name, string(role))
		w.from = &net.TCPAddr{IP: net.IPv4(127, 0, byte(n/250), byte(n%250+1))}
	}
	return name
}

// rulesOfWalk give each role to a group of its name.
const rulesOfWalk = `
roles:
  viewer: {groups: [viewer]}
  user: {groups: [user]}
  operator: {groups: [operator]}
  administrator: {groups: [administrator]}
`

// noRole is the role of people without one.
const noRole access.Role = "norole"

func newWalk(t *testing.T, prepare func(*testbed)) *walk {
	t.Helper()
	b := newTestbed(t)
	if prepare != nil {
		prepare(b)
	}
	r := newRuledOn(t, b)
	r.change(rulesOfWalk)
	w := &walk{ruled: r}
	eventually(t, "the rules are in force", func() bool { // earlier rules have no group of that name
		w.next(access.Viewer)
		return status.Code(w.call("/hamadryad.engine.v1.Manager/Jobs")) == codes.OK
	})
	return w
}

// call makes an empty request by gRPC.
func (w *walk) call(method string) error {
	w.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+w.cfg.Listen, grpc.WithTransportCredentials(credentials.NewTLS(w.keys.Client(auth.Manager, "m"))))
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(w.ctx())
	defer cancel()
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	_ = s.SendMsg(&wire.Empty{}) // of what is refused the end is not taken; the answer says it
	_ = s.CloseSend()
	return s.RecvMsg(&wire.Empty{})
}

// example is a request that a pattern fits.
var example = strings.NewReplacer("{$}", "", "{job}", "job-1", "{launcher}", "l1", "{owner}", "ann", "{schedule}", "nightly", "{version}", "1", "{attempt}", "1", "{file}", "style.css")

// web makes an empty request by HTTP and returns the answer.
func (w *walk) web(method, path string, header ...string) (int, string) {
	w.t.Helper()
	web := &http.Client{Transport: &http.Transport{
		TLSClientConfig: w.keys.Client(auth.Manager, ""), DisableKeepAlives: true, DialContext: (&net.Dialer{LocalAddr: w.from}).DialContext,
	}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	q, err := http.NewRequestWithContext(w.ctx(), method, "https://"+w.http+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if q.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			q.Host = header[i+1]
		}
	}
	answer, err := web.Do(q)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// The audit is the same by gRPC, REST and the page, line for line, for every query, to callers who
// may read it.
func TestTheAuditIsToldAlike(t *testing.T) {
	w := newWalk(t, nil)
	var names []string
	for i, role := range []access.Role{access.User, noRole, access.Operator} {
		names = append(names, w.next(role))
		for range i + 1 {
			_ = w.call("/hamadryad.engine.v1.Manager/ApplySettings")
			_, _ = w.web(http.MethodPost, "/audit")
		}
		w.as(w.keys)
		if _, err := w.api.Drain(w.ctx(), &wire.DrainRequest{Launcher: "<b>"}); err == nil {
			t.Error("there is a launcher <b>")
		}
	}
	for _, q := range []*wire.AuditRequest{
		{},
		{Who: names[0]},
		{What: "ApplySettings"},
		{What: "<b>"},
		{Result: audit.Refused},
		{Result: audit.Done},
		{Text: "administrator"},
		{Since: "2026-01-01T00:00:00Z", Result: audit.Refused},
		{Until: "2026-01-01T00:00:00Z"},
		{Who: "nobody"},
	} {
		w.next(access.Viewer)
		over := w.auditOver(q)
		if whole := w.auditREST(q); !slices.Equal(over, whole) {
			t.Errorf("%v: over gRPC\n%q\nand over REST\n%q", q, over, whole)
		}
		rows := w.auditPage(q)
		if len(rows) != len(over) || slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, "<b>") }) {
			t.Errorf("%v: %d lines, and the page shows %d: %q", q, len(over), len(rows), rows)
		}
		for i, row := range rows {
			for _, part := range strings.Split(over[i], "|")[1:] {
				if !strings.Contains(row, html.EscapeString(part)) {
					t.Errorf("%v: the page shows %s, and not %q", q, row, part)
				}
			}
		}
		if none := q.Who == "nobody" || q.Until != "" || q.Result == audit.Done; none != (len(over) == 0) {
			t.Errorf("%v: %q", q, over)
		}
	}
}

// auditOver asks for the audit over gRPC, in pages of two lines.
func (w *walk) auditOver(q *wire.AuditRequest) (lines []string) {
	w.t.Helper()
	w.as(w.keys)
	for q.Limit = 2; ; {
		r, err := w.api.Audit(w.ctx(), q)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, l := range r.Lines {
			lines = append(lines, strings.Join([]string{l.Time, l.Who, l.Proof, l.Address, l.Method, l.What, l.Result, l.Why}, "|"))
		}
		if q.Cursor = r.Next; q.Cursor == "" {
			return lines
		}
	}
}

// filters are a question as a query of HTTP.
func filters(q *wire.AuditRequest) string {
	return url.Values{"who": {q.Who}, "what": {q.What}, "text": {q.Text}}.Encode() + given("result", q.Result) + given("since", q.Since) + given("until", q.Until)
}

func given(name, value string) string {
	if value == "" {
		return ""
	}
	return "&" + name + "=" + url.QueryEscape(value)
}

func (w *walk) auditREST(q *wire.AuditRequest) (lines []string) {
	w.t.Helper()
	var list restapi.AuditList
	if _, text := w.web(http.MethodGet, "/api/v1/audit?limit=1000&"+filters(q)); json.Unmarshal([]byte(text), &list) != nil {
		w.t.Fatal(text)
	}
	of := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	for _, l := range list.Lines {
		lines = append(lines, strings.Join([]string{l.Time.Format(time.RFC3339Nano), l.Who, l.Proof, of(l.Address), l.Method, of(l.What), l.Result, of(l.Why)}, "|"))
	}
	return lines
}

// auditPage returns the rows of the page.
func (w *walk) auditPage(q *wire.AuditRequest) []string {
	w.t.Helper()
	code, text := w.web(http.MethodGet, "/audit?"+filters(q))
	if code != http.StatusOK {
		w.t.Fatal(text)
	}
	return regexp.MustCompile(`(?s)<tr><th scope="row".*?</tr>`).FindAllString(text, -1)
}

// routesOf are the requests by HTTP that the manager's table has: method and path.
func routesOf() (all [][2]string) {
	for _, r := range access.Requests() {
		pattern, ok := strings.CutPrefix(r, access.ManagerRoute(""))
		if !ok {
			continue
		}
		method, path, ok := strings.Cut(pattern, " ")
		if !ok {
			method, path = http.MethodPost, pattern // a pattern for any method
		}
		all = append(all, [2]string{method, path})
	}
	return all
}

// refused compares the last line of the audit with a refusal.
func (w *walk) refused(name, method, what string, says ...string) {
	w.t.Helper()
	lines := w.audited()
	said := lines[len(lines)-1]
	if said.Result != audit.Refused || said.Who != name || said.Method != method || what != "" && said.What != what {
		w.t.Errorf("%s %s of %q: the audit says %+v", method, what, name, said)
	}
	for _, text := range says {
		if !strings.Contains(said.Why, text) {
			w.t.Errorf("%s %s of %q: the audit says %q, not %q", method, what, name, said.Why, text)
		}
	}
}

// Each request of the rules' table is refused to each role that its rule does not name, with a
// reason, over gRPC and HTTP; the audit has the refusal.
func TestEachRoleAtEachRequest(t *testing.T) {
	w := newWalk(t, nil)
	refused := 0
	for _, request := range access.Requests() {
		rule, _ := access.RuleOf(request)
		for _, role := range append(slices.Clone(access.Roles), noRole) {
			if rule.Open || rule.Kind == auth.User && slices.Contains(rule.Roles, role) || strings.HasPrefix(request, access.LauncherRoute("")) {
				continue
			}
			refused++
			name := w.next(role)
			if service, method, ok := strings.Cut(strings.TrimPrefix(request, "/"), "/"); ok && !strings.Contains(service, " ") {
				err, what := w.call(request), rule.What
				if rule.Kind != auth.User {
					what = "is for a " + string(rule.Kind) + ", and the certificate shown is that of user " + name
				}
				w.denied(err, what)
				w.refused(name, method, "", status.Convert(err).Message())
				continue
			}
			method, path, ok := strings.Cut(strings.TrimPrefix(request, access.ManagerRoute("")), " ")
			if !ok {
				method, path = http.MethodPost, method
			}
			path = example.Replace(path)
			if code, text := w.web(method, path); code != http.StatusForbidden || !strings.Contains(text, rule.What) {
				t.Errorf("%s as %s: %d %s", request, role, code, text)
			}
			w.refused(name, method, path, "may not "+rule.What)
		}
	}
	if refused < 100 {
		t.Errorf("only %d requests were refused: the table has more", refused)
	}
}

// An administrator whom another site's page or a name that was made to lead here brought is refused
// whatever that may not ask for; so is all that changes something where nothing is to be changed over
// HTTP. The audit has it.
func TestWhoIsLedToEachRoute(t *testing.T) {
	w := newWalk(t, nil)
	for _, r := range routesOf() {
		method, path := r[0], example.Replace(r[1])
		if method != http.MethodGet {
			for _, header := range [][2]string{{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}} {
				w.next(access.Administrator)
				if code, text := w.web(method, path, header[0], header[1]); code != http.StatusForbidden {
					t.Errorf("%v: %s %s: %d %s", header, method, path, code, text)
				}
				w.refused("", method, path, "a page of another site asks for a change")
			}
		}
		if slices.Contains(probes, path) {
			continue
		}
		w.next(access.Administrator)
		if code, text := w.web(method, path, "Host", "evil.example"); code != http.StatusForbidden {
			t.Errorf("by a foreign name: %s %s: %d %s", method, path, code, text)
		}
		w.refused("", method, path, "nobody said that this manager is called")
	}
}

// Where nothing is to be changed over HTTP, no route changes anything.
func TestActionsOffAtEachRoute(t *testing.T) {
	w := newWalk(t, func(b *testbed) { b.cfg.WebActionsOff = true })
	for _, r := range routesOf() {
		if method, path := r[0], example.Replace(r[1]); method != http.MethodGet {
			w.next(access.Administrator)
			if code, text := w.web(method, path); code != http.StatusForbidden {
				t.Errorf("%s %s: %d %s", method, path, code, text)
			}
			w.refused("", method, path, "manager.web.actions is off")
		}
	}
}

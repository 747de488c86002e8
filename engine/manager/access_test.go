package manager

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/auth/certs/certstest"
	"github.com/hamadryad/hamadryad/engine/manager/internal/api"
	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/manager/internal/authz"
	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/engine/manager/recovery"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Each method and each page that the manager has is in the table of rules, and nothing else
// of a manager is.
func TestEveryRequestHasARule(t *testing.T) {
	m := &manager{stats: metrics.New(), guard: authz.New(nil, nil), life: &recovery.Life{}, history: &historyFeeder{}, shown: api.NewConfiguration(nil)}
	var have []string
	for service, info := range m.grpcServer().GetServiceInfo() {
		for _, method := range info.Methods {
			have = append(have, "/"+service+"/"+method.Name)
		}
	}
	for pattern := range m.routes() {
		have = append(have, access.ManagerRoute(pattern))
	}
	for _, request := range have {
		if _, ok := access.RuleOf(request); !ok {
			t.Errorf("%s has no rule: add one to the table of engine/auth/access", request)
		}
	}
	for _, request := range access.Requests() {
		if !strings.HasPrefix(request, access.LauncherRoute("")) && !slices.Contains(have, request) {
			t.Errorf("there is a rule for %s, which the manager has not", request)
		}
	}
}

const rulesOfSite = `
roles:
  administrator: {users: [root]}
  operator: {users: [olga]}
  viewer: {users: [eve]}
  user: {groups: [staff]}
groups:
  staff: [ann, bob, carol, gateway]
defaultPool: lab
impersonators: [{users: [gateway], for: {users: [ann]}}]
pools:
  lab: {submit: {users: [ann]}, administer: {users: [carol]}}
  closed: {administer: {users: [dora]}}
`

// ruled is a manager with rules, whose clients show certificates.
type ruled struct {
	*testbed
	ca      *certstest.CA
	updates chan Update
	keys    map[string]*certs.Keys
}

func newRuled(t *testing.T) *ruled {
	t.Helper()
	return newRuledOn(t, newTestbed(t))
}

// newRuledOn starts a testbed so.
func newRuledOn(t *testing.T, b *testbed) *ruled {
	t.Helper()
	r := &ruled{testbed: b, ca: certstest.New(t), updates: make(chan Update), keys: map[string]*certs.Keys{}}
	var err error
	if r.cfg.Keys, err = certs.Open(r.ca.Files(auth.Manager, "m"), certs.Options{Log: r.cfg.Log}); err != nil {
		t.Fatal(err)
	}
	r.cfg.Updates, r.cfg.Core.Access = r.updates, rules(t, rulesOfSite)
	r.start()
	return r
}

func rules(t *testing.T, text string) *access.Rules {
	t.Helper()
	rules, err := access.Parse(scheduler.Config{Text: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// who makes a user the caller of the requests that follow.
func (r *ruled) who(name string) *ruled {
	r.t.Helper()
	if r.keys[name] == nil {
		r.keys[name] = r.ca.Keys(auth.User, name)
	}
	r.as(r.keys[name])
	return r
}

// beside is another user's client, which stays while others make requests.
func (r *ruled) beside(name string) rpc.ManagerClient {
	r.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+r.cfg.Listen, grpc.WithTransportCredentials(credentials.NewTLS(r.ca.Keys(auth.User, name).Client(auth.Manager, "m"))))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	return rpc.NewManagerClient(conn)
}

// change puts other rules in force.
func (r *ruled) change(text string) {
	r.t.Helper()
	set := r.cfg.Core
	set.Access = rules(r.t.(*testing.T), text)
	r.updates <- Update{Core: set, Policy: r.cfg.Policy}
}

// kill has a message that claims more than there is.
func (r *ruled) kill(job uint64) error {
	_, err := r.api.Kill(r.ctx(), &wire.JobRef{Job: job, Principal: &wire.Principal{Name: "root", Role: "administrator", Groups: []string{"staff"}}})
	return err
}

func (r *ruled) move(job uint64, pool string) error {
	_, err := r.api.Update(r.ctx(), &wire.UpdateRequest{Job: job, Pool: &pool})
	return err
}

// read looks at a job in each way that there is, and fails when they differ.
func (r *ruled) read(job uint64) error {
	r.t.Helper()
	_, err := r.api.Status(r.ctx(), &wire.StatusRequest{Job: job})
	watch, errWatch := r.api.Watch(r.ctx(), &wire.StatusRequest{Job: job})
	if errWatch == nil {
		_, errWatch = watch.Recv()
	}
	logs, errLogs := r.api.Logs(r.ctx(), &wire.LogsRequest{Job: job})
	if errLogs == nil {
		_, errLogs = logs.Recv()
	}
	list, errList := r.api.Jobs(r.ctx(), &wire.JobsRequest{All: true})
	if errList != nil && status.Code(errList) != codes.PermissionDenied { // as of a caller without a role
		r.t.Error(errList)
	}
	listed := slices.ContainsFunc(list.GetJobs(), func(j *wire.JobSummary) bool { return j.Job == job })
	denied := status.Code(err) == codes.PermissionDenied
	if denied != (status.Code(errWatch) == codes.PermissionDenied) || denied != (status.Code(errLogs) == codes.PermissionDenied) || denied == listed {
		r.t.Errorf("status: %v; watch: %v; logs: %v; listed: %t", err, errWatch, errLogs, listed)
	}
	return err
}

// denied fails unless an error is a refusal that says something.
func (r *ruled) denied(err error, says string) {
	r.t.Helper()
	if status.Code(err) != codes.PermissionDenied || !strings.Contains(status.Convert(err).Message(), says) {
		r.t.Errorf("%v is no refusal that says %q", err, says)
	}
}

func (r *ruled) allowed(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Error(err)
	}
}

// Only callers with the right kill, move and look at jobs: by role, as owner, or by a list of the
// pool. The user's name in a message does not count.
func TestWhoseJobsAreWhose(t *testing.T) {
	r := newRuled(t)
	job := r.who("ann").submit(1)
	r.allowed(r.read(job))
	r.denied(r.move(job, "closed"), `ann may not submit to pool "closed"`)
	r.denied(r.who("bob").kill(job), "bob may not kill job-1: it is a job of ann")
	r.denied(r.move(job, "lab"), "bob may not move job-1")
	r.denied(r.read(job), "bob may not look at job-1")
	_, err := r.api.Drain(r.ctx(), &wire.DrainRequest{Launcher: "l1", Drain: true})
	r.denied(err, "bob may not drain launchers: it needs one of the roles operator, administrator; ask root")
	r.denied(r.who("dora").read(job), "dora may not")
	for _, name := range []string{"eve", "olga"} {
		r.allowed(r.who(name).read(job))
		r.denied(r.kill(job), name+" may not kill a job: it needs one of the roles user, administrator; ask root")
	}
	r.allowed(r.who("carol").read(job)) // carol administers the pool
	r.allowed(r.move(job, "lab/made"))
	st, err := r.who("ann").api.Status(r.ctx(), &wire.StatusRequest{Job: job})
	if err != nil || st.Summary.Pool != "lab/made" || st.Summary.User != "ann" {
		t.Errorf("%v, %v", st.GetSummary(), err)
	}
	r.allowed(r.who("carol").kill(job))
}

// A caller without the right to change a job learns that also for an ended one, and never its
// state, also if history alone knows it. The audit has it as a refusal.
func TestWhoseEndedJobsAreWhose(t *testing.T) {
	b := newTestbed(t)
	b.cfg.Core.JobsKept = 1
	r := newRuledOn(t, b)
	old, last := r.who("ann").submit(1), r.submit(1)
	for _, job := range []uint64{old, last} {
		r.allowed(r.kill(job))
		r.follow(job)
	}
	ways := map[string]func(uint64) error{
		"kill": r.kill,
		"move": func(job uint64) error { return r.move(job, "lab/x") },
		"change": func(job uint64) error {
			_, err := r.api.Update(r.ctx(), &wire.UpdateRequest{Job: job, Priority: proto.Int32(2)})
			return err
		},
	}
	for _, job := range []uint64{old, last} {
		for what, way := range ways {
			r.who("bob")
			r.denied(way(job), fmt.Sprintf("bob may not %s job-%d: it is a job of ann", what, job))
			r.who("ann")
			if err := way(job); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "has ended") {
				t.Errorf("its owner who would %s job-%d is told %v", what, job, err)
			}
		}
		for _, path := range []string{"/api/v1/jobs/job-%d/kill", "/jobs/job-%d/kill"} {
			if code, _ := r.page("bob", http.MethodPost, fmt.Sprintf(path, job)); code != http.StatusForbidden {
				t.Errorf("POST "+path+": %d", job, code)
			}
		}
	}
	refused := 0
	for _, l := range r.audited() {
		if l.Who == "bob" && l.Result == audit.Refused && strings.Contains(l.Why, "it is a job of ann") {
			refused++
		}
	}
	if refused != 10 {
		t.Errorf("%d refusals are in the audit", refused)
	}
}

// A revoked role, and a group that a user left, end the rights they gave, at once and also for open
// streams.
func TestRolesAndGroupsThatGo(t *testing.T) {
	r := newRuled(t)
	job := r.who("ann").submit(1)
	watch, err := r.beside("ann").Watch(r.ctx(), &wire.StatusRequest{Job: job})
	if err == nil {
		_, err = watch.Recv()
	}
	r.allowed(err)
	r.change(strings.Replace(rulesOfSite, "[ann, bob,", "[bob,", 1))
	nobody := job + 1 // a user who may kill jobs at all learns that there is no such job
	eventually(t, "ann's role is gone", func() bool { return status.Code(r.kill(nobody)) == codes.PermissionDenied })
	r.denied(r.kill(job), "ann may not")
	r.who("carol")
	r.allowed(r.move(job, "lab/other")) // which the open watch would show
	for err = nil; err == nil; {        // earlier messages are on their way
		_, err = watch.Recv()
	}
	r.denied(err, "ann may not")
	r.change(rulesOfSite)
	r.who("ann")
	eventually(t, "ann's role is back", func() bool { return status.Code(r.kill(nobody)) == codes.NotFound })
	r.allowed(r.kill(job))
}

// Followed logs and events end for a user who loses the right to look, by gRPC and by REST: later
// output does not reach the user.
func TestWhatIsFollowedEndsWithTheRight(t *testing.T) {
	for what, change := range map[string]func() string{
		"roles are gone": func() string {
			return strings.NewReplacer("[ann, bob,", "[bob,", "[eve]", "[olga]").Replace(rulesOfSite)
		},
		"certificates are revoked": func() string { return rulesOfSite + "revoked: {user/ann: always, user/eve: always}\n" },
	} {
		t.Run(what, func(t *testing.T) {
			r := newRuled(t)
			goOn := make(chan struct{})
			l := r.printing("l1", "for both", "for nobody", goOn)
			job := r.who("ann").submit(1)
			attempt := <-l.started
			r.allowed(l.report(&wire.Report{What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: attempt}}}))
			one, err := r.beside("ann").Logs(r.ctx(), &wire.LogsRequest{Job: job, Follow: true})
			r.allowed(err)
			log := r.opened("eve", fmt.Sprintf("/api/v1/jobs/job-%d/attempts/attempt-%d/log?follow=true", job, attempt))
			events := r.opened("eve", "/api/v1/events")
			if c, err := one.Recv(); err != nil || string(c.Data) != "for both" {
				t.Fatal(c, err)
			}
			for _, body := range []io.Reader{log, events} {
				if n, err := body.Read(make([]byte, 1000)); n == 0 {
					t.Fatal(err)
				}
			}
			r.change(change())
			eventually(t, "ann may do nothing", func() bool { return status.Code(r.kill(job)) == codes.PermissionDenied })
			close(goOn)
			r.allowed(r.who("carol").move(job, "lab/other")) // the events would show it
			if c, err := one.Recv(); status.Code(err) != codes.PermissionDenied {
				t.Errorf("ann got %v, %v", c, err)
			}
			if rest, err := io.ReadAll(log); len(rest) > 0 || err == nil {
				t.Errorf("eve got %q, and an end with %v, which is to look like none", rest, err)
			}
			if _, err := io.ReadAll(events); err != nil { // earlier messages are on their way
				t.Error(err)
			}
		})
	}
}

// printing is a launcher whose attempts print a text, and another when goOn is closed.
func (r *ruled) printing(name, first, last string, goOn <-chan struct{}) *fakeLauncher {
	r.t.Helper()
	keys := r.ca.Keys(auth.Launcher, name)
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.WriteString(w, first)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-goOn:
			_, _ = io.WriteString(w, last)
			_ = http.NewResponseController(w).Flush()
		case <-q.Context().Done():
		}
		<-q.Context().Done()
	}))
	web.TLS = keys.Server(auth.Manager)
	web.StartTLS()
	r.t.Cleanup(web.Close)
	mine, api := r.conn, r.api
	conn, err := grpc.NewClient("passthrough:///"+r.cfg.Listen, grpc.WithTransportCredentials(credentials.NewTLS(keys.Client(auth.Manager, "m"))))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	r.conn = conn
	l, err := r.tryJoin(name, 1, true, func(j *wire.Join) { j.Identity, j.HttpAddress = name, web.Listener.Addr().String() })
	r.conn, r.api = mine, api
	if err != nil {
		r.t.Fatal(err)
	}
	return l
}

// opened is a page's stream for a user.
func (r *ruled) opened(name, path string) io.Reader {
	r.t.Helper()
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: r.ca.Keys(auth.User, name).Client(auth.Manager, "")}}
	q, err := http.NewRequestWithContext(r.ctx(), http.MethodGet, "https://"+r.http+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	answer, err := web.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { answer.Body.Close() })
	if answer.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: %s", path, answer.Status)
	}
	return answer.Body
}

// A revoked certificate ends what it began: a launcher's stream, a user's open one, and requests
// over older connections. All other launchers are notified, and a restarted manager knows.
func TestCertificatesThatAreRevoked(t *testing.T) {
	r := newRuled(t)
	job := r.who("ann").submit(1)
	watch, err := r.beside("ann").Watch(r.ctx(), &wire.StatusRequest{Job: job})
	if err == nil {
		_, err = watch.Recv()
	}
	r.allowed(err)
	stolen, bob := r.ca.Keys(auth.Launcher, "l2"), r.ca.Keys(auth.Launcher, "l1")
	two, errTwo := r.streamWith(stolen, "l2")
	one, errOne := r.streamWith(bob, "l1")
	r.allowed(errors.Join(errTwo, errOne))
	revoked := rulesOfSite + "revoked: {launcher/l2: always, user/ann: always}\n"
	r.change(revoked)
	eventually(t, "ann's certificate counts no more", func() bool {
		err := r.kill(job)
		return status.Code(err) == codes.PermissionDenied && strings.Contains(err.Error(), "the certificate of user ann is revoked")
	})
	for err = nil; err == nil; {
		_, err = two.Recv()
	}
	if !strings.Contains(err.Error(), "the launcher's certificate is revoked") {
		t.Errorf("its stream ended with %v", err)
	}
	var told *wire.Revocations
	for told.GetUntil()["launcher/l2"] != auth.Always.Unix() {
		m, err := one.Recv()
		if err != nil {
			t.Fatal(err)
		}
		told = m.Revocations
	}
	r.who("carol")
	r.allowed(r.move(job, "lab/other"))
	for err = nil; err == nil; {
		_, err = watch.Recv()
	}
	r.denied(err, "may not look at job-1")
	if err := r.joinWith(stolen, "l2"); err == nil {
		t.Error("it joined with the certificate that was revoked")
	}
	r.stop()
	r.cfg.Keys, r.cfg.Core.Access = r.ca.Keys(auth.Manager, "m"), rules(t, revoked)
	r.start()
	r.stop()
	r.start()
	if err := r.joinWith(stolen, "l2"); err == nil {
		t.Error("after a restart it joined")
	}
}

// Groups in a certificate count like those of the configuration.
func TestGroupsOfACertificate(t *testing.T) {
	r := newRuled(t)
	job := r.who("ann").submit(1)
	r.denied(r.who("zoe").read(job), "zoe may not")
	r.keys["zoe"] = r.ca.KeysIn("zoe", "staff", "Data Science")
	r.denied(r.who("zoe").kill(job), "zoe may not kill job-1: it is a job of ann") // and no more "needs the role user"
	last := r.audited()[len(r.audited())-1]
	if !slices.Equal(last.Groups, []string{"Data Science", "staff"}) {
		t.Errorf("the audit says %+v", last)
	}
	for _, g := range []string{"", " a", "a\n", "hamadryad", strings.Repeat("a", auth.GroupMax+1)} {
		if _, err := r.ca.In([]string{g}); err == nil {
			t.Errorf("a certificate names group %q", g)
		}
	}
}

// A user may act only for the users that the rules name, and both are in the log.
func TestActingForOthers(t *testing.T) {
	r := newRuled(t)
	job := r.who("ann").submit(1)
	r.who("gateway")
	r.denied(r.kill(job), "gateway may not kill job-1")
	for name, want := range map[string]string{"root": "gateway may not act for root", "bob": "gateway may not act for bob", "../ann": "nobody can act for that name"} {
		_, err := r.api.Kill(metadata.AppendToOutgoingContext(r.ctx(), auth.ActsForKey, name), &wire.JobRef{Job: job})
		r.denied(err, want)
	}
	watch, err := r.beside("gateway").Watch(metadata.AppendToOutgoingContext(r.ctx(), auth.ActsForKey, "ann"), &wire.StatusRequest{Job: job})
	if err == nil {
		_, err = watch.Recv()
	}
	r.allowed(err)
	r.change(strings.Replace(rulesOfSite, "users: [gateway], for", "users: [nobody], for", 1))
	r.who("ann")
	eventually(t, "gateway acts for nobody", func() bool {
		_, err := r.beside("gateway").Jobs(metadata.AppendToOutgoingContext(r.ctx(), auth.ActsForKey, "ann"), &wire.JobsRequest{})
		return status.Code(err) == codes.PermissionDenied
	})
	r.allowed(r.move(job, "lab/other"))
	for err = nil; err == nil; { // earlier messages are on their way
		_, err = watch.Recv()
	}
	r.denied(err, "may not look at job-1")
	r.change(rulesOfSite)
	r.who("gateway")
	eventually(t, "gateway acts for ann again", func() bool {
		_, err := r.api.Jobs(metadata.AppendToOutgoingContext(r.ctx(), auth.ActsForKey, "ann"), &wire.JobsRequest{})
		return err == nil
	})
	_, err = r.api.Kill(metadata.AppendToOutgoingContext(r.ctx(), auth.ActsForKey, "ann"), &wire.JobRef{Job: job})
	r.allowed(err)
	last := r.audited()[len(r.audited())-1]
	if last.Who != "ann" || last.By != "gateway" || last.Proof != auth.Certificate || !slices.Equal(last.Groups, []string{"staff"}) || last.Result != audit.Done {
		t.Errorf("the audit says %+v", last)
	}
}

// audited are the lines of the audit as they are now.
func (b *testbed) audited() (lines []audit.Line) {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.cfg.Data, "audit", "audit.jsonl"))
	if err != nil {
		b.t.Fatal(err)
	}
	for one := range strings.Lines(string(text)) {
		var l audit.Line
		if err := json.Unmarshal([]byte(one), &l); err != nil || l.Time == "" || l.Address == "" && l.Proof != audit.ByFile {
			b.t.Fatalf("%s: %v", one, err)
		}
		l.Time, l.Address = "", ""
		lines = append(lines, l)
	}
	return lines
}

// Each change and each refusal is in the audit when its answer arrives; requests that only read are
// not.
func TestTheAuditIsThereBeforeTheAnswer(t *testing.T) {
	r := newRuled(t)
	seen := 0
	next := func(want audit.Line) {
		t.Helper()
		want.Proof = auth.Certificate
		lines := r.audited()
		if len(lines) != seen+1 {
			t.Fatalf("there are %d lines, not %d, the last of them %+v", len(lines), seen+1, lines[len(lines)-1])
		}
		seen++
		got := lines[seen-1]
		if want.Groups == nil {
			got.Groups = nil
		}
		if g, w := mustJSON(t, got), mustJSON(t, want); g != w {
			t.Errorf("the line is\n%s\nnot\n%s", g, w)
		}
	}
	r.who("ann").upload("program") // leaves no line, as its submission does
	job := r.submit(1)
	next(audit.Line{Who: "ann", Groups: []string{"staff"}, Method: "Submit", What: `job-1 "job" in pool ""`, After: `pool "lab"`, Result: audit.Done})
	if _, err := r.api.Status(r.ctx(), &wire.StatusRequest{Job: job}); err != nil { // leaves no line
		t.Error(err)
	}
	r.allowed(r.move(job, "lab/x"))
	next(audit.Line{Who: "ann", Method: "Update", What: "job-1", Before: `pool "lab", priority NORMAL`, After: `pool "lab/x", priority NORMAL`, Result: audit.Done})
	_, err := r.who("bob").api.Status(r.ctx(), &wire.StatusRequest{Job: job})
	next(audit.Line{Who: "bob", Method: "Status", What: "job-1", Result: audit.Refused, Why: status.Convert(err).Message()})
	err = r.kill(job)
	next(audit.Line{Who: "bob", Method: "Kill", What: "job-1", Result: audit.Refused, Why: status.Convert(err).Message()})
	err = r.kill(77)
	next(audit.Line{Who: "bob", Method: "Kill", What: "job-77", Result: audit.Failed, Why: status.Convert(err).Message()})
	r.allowed(r.who("ann").kill(job))
	next(audit.Line{Who: "ann", Method: "Kill", What: "job-1", Before: "running", After: "killed", Result: audit.Done})
	if err := r.joinWith(r.ca.Keys(auth.Launcher, "l1"), "l1"); err != nil {
		t.Fatal(err)
	}
	next(audit.Line{Who: "l1", Method: "Connect", What: `launcher "l1"`, Result: audit.Done})
	err = r.joinWith(r.ca.Keys(auth.Launcher, "l1"), "l2")
	next(audit.Line{Who: "l1", Method: "Connect", What: `launcher "l2"`, Result: audit.Refused, Why: err.Error()})
	code, body := r.page("bob", http.MethodPost, "/scheduler")
	if code != http.StatusNotFound {
		t.Errorf("%d %s", code, body)
	}
	code, body = r.page("nobody", http.MethodGet, "/scheduler")
	if code != http.StatusForbidden {
		t.Errorf("%d %s", code, body)
	}
	next(audit.Line{Who: "nobody", Method: "GET", What: "/scheduler", Result: audit.Refused, Why: "nobody may not ask for the policy's pages: it needs one of the roles viewer, user, operator, administrator; ask root"})
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// page requests a page with a user's certificate.
func (r *ruled) page(name, method, path string) (int, string) {
	r.t.Helper()
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: r.ca.Keys(auth.User, name).Client(auth.Manager, ""), DisableKeepAlives: true}}
	q, err := http.NewRequestWithContext(r.ctx(), method, "https://"+r.http+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	answer, err := web.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode, answer.Status
}

// Profiles are for administrators, if there are roles, and for users of the machine.
func TestWhoTakesProfiles(t *testing.T) {
	r := newRuled(t)
	for name, want := range map[string]int{"root": http.StatusOK, "olga": http.StatusForbidden, "eve": http.StatusForbidden, "ann": http.StatusForbidden, "nobody": http.StatusForbidden} {
		if code, text := r.page(name, http.MethodGet, "/debug/pprof/goroutine"); code != want {
			t.Errorf("%s: %s", name, text)
		}
	}
	b := newTestbed(t)
	b.start()
	if code, text := b.page("/debug/pprof/heap"); code != http.StatusOK {
		t.Errorf("without roles: %d %s", code, text)
	}
}

// While the audit can't be written no change is accepted, and requests that only read continue.
func TestNoChangeWithoutTheAudit(t *testing.T) {
	r := newRuled(t)
	job := r.who("ann").submit(1)
	folder := filepath.Join(r.cfg.Data, "audit")
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.denied(r.who("bob").read(job), "bob may not look at")
	r.who("ann")
	if err := r.kill(job); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "no change is taken while it can't be written into the audit") {
		t.Errorf("a change is told %v", err)
	}
	r.allowed(r.read(job))
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	r.allowed(r.kill(job))
	lines := r.audited()
	if n := len(lines); n != 4 || lines[0].Who != "bob" || lines[3].Who != "ann" || lines[3].Result != audit.Done {
		t.Errorf("the audit says %+v", lines)
	}
}

// Without access control nobody is refused anything, and the audit has the names that are
// claimed.
func TestWithoutAccessControl(t *testing.T) {
	b := newTestbed(t)
	b.start()
	job := b.submit(1)
	if _, err := b.api.Kill(b.ctx(), &wire.JobRef{Job: job, Principal: &wire.Principal{Name: "you", Proof: auth.Certificate, Role: "administrator", By: "x"}}); err != nil {
		t.Fatal(err)
	}
	lines := b.audited()
	got := lines[len(lines)-1]
	if want := (audit.Line{Who: "you", Proof: auth.Unproven, Method: "Kill", What: "job-1", Before: "running", After: "killed", Result: audit.Done}); mustJSON(t, got) != mustJSON(t, want) {
		t.Errorf("the audit says %+v", got)
	}
	r, err := b.api.Access(b.ctx(), &wire.AccessRequest{})
	if err != nil || !r.Off {
		t.Errorf("%v, %v", r, err)
	}
}

// Every caller learns its own rights; only callers who may view everything learn those of others.
func TestAccessIsTold(t *testing.T) {
	r := newRuled(t)
	own, err := r.who("ann").api.Access(r.ctx(), &wire.AccessRequest{})
	if err != nil || !slices.Equal(own.Roles, []string{"user"}) || len(own.Pools) != 1 || own.Pools[0].Pool != "lab" || !own.Pools[0].Submit || own.Pools[0].Administer || own.DefaultPool != "lab" {
		t.Errorf("%v, %v", own, err)
	}
	_, err = r.api.Access(r.ctx(), &wire.AccessRequest{User: "bob"})
	r.denied(err, "ann may ask about itself alone")
	other, err := r.who("eve").api.Access(r.ctx(), &wire.AccessRequest{User: "gateway"})
	if err != nil || !slices.Equal(other.ActsFor, []string{"ann"}) || other.Principal.Name != "gateway" || len(other.Advice) != 1 {
		t.Errorf("%v, %v", other, err)
	}
}

// For a missing or forbidden page, a browser gets a page with links to all others, a program that
// accepts JSON a problem, and all others text.
func TestWhatCameToNothingIsToldAsItIsTaken(t *testing.T) {
	b := newTestbed(t)
	b.start()
	for _, x := range []struct {
		method, path, accept, kind, says string
		code                             int
	}{
		{"GET", "/nope", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html", `<a href="./jobs">Jobs</a>`, 404},
		{"GET", "/nope/at/all", "text/html", "text/html", `<a href="./../../jobs">Jobs</a>`, 404},
		{"GET", "/nope", "application/json", "application/problem+json", `nothing is at \"/nope\"`, 404},
		{"GET", "/nope", "application/problem+json, text/html", "application/problem+json", "nothing is at", 404},
		{"GET", "/nope", "*/*", "text/plain", `nothing is at "/nope"`, 404},
		{"GET", "/nope", "", "text/plain", `nothing is at "/nope"`, 404},
		{"GET", "/api/v1/nope", "text/html", "application/problem+json", "nothing is at", 404},
		{"DELETE", "/jobs", "text/html", "text/html", "does not take", 405},
		{"GET", "/jobs/%ff", "text/html", "text/html", "not UTF-8", 400},
	} {
		q, err := http.NewRequestWithContext(b.ctx(), x.method, "http://"+b.http+x.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Accept", x.accept)
		answer, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != x.code || !strings.HasPrefix(answer.Header.Get("Content-Type"), x.kind) || !strings.Contains(string(text), x.says) {
			t.Errorf("%s %s for %q: %d %s %.300s %v", x.method, x.path, x.accept, answer.StatusCode, answer.Header.Get("Content-Type"), text, err)
		}
	}
}

// A launcher learns which users have a role, and which have lost theirs.
func TestALauncherAsksWhoMayLook(t *testing.T) {
	b, ca := newClosedWith(t, func(c *Config) {
		c.Core.Access = rules(t, "roles: {viewer: {users: [prometheus], groups: [staff]}, administrator: {users: [root]}}\nrevoked: {user/root: 2100-01-01T00:00:00Z}")
	})
	conn, err := grpc.NewClient("passthrough:///"+b.cfg.Listen, grpc.WithTransportCredentials(credentials.NewTLS(ca.Keys(auth.Launcher, "l1").Client(auth.Manager, "m"))))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := rpc.NewLaunchersClient(conn)
	for _, c := range []struct {
		q    *wire.LookQuery
		want bool
	}{
		{&wire.LookQuery{User: "prometheus"}, true},
		{&wire.LookQuery{User: "ann"}, false},
		{&wire.LookQuery{User: "ann", Groups: []string{"staff"}}, true},
		{&wire.LookQuery{User: "root", IssuedNs: 1}, false},
		{&wire.LookQuery{}, false},
	} {
		a, err := client.MayLook(b.ctx(), c.q)
		if err != nil || a.May != c.want {
			t.Errorf("%v: %v %v", c.q, a, err)
		}
	}
	if _, err := rpc.NewLaunchersClient(b.conn).MayLook(b.ctx(), &wire.LookQuery{User: "ann"}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a user asks: %v", err)
	}
}

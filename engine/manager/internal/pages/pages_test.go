package pages

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/rest"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// evil is a hostile name: markup, a link, an end of an attribute, terminal escapes, characters that
// reverse text, and invalid text.
const evil = "<script>strange()</script><img src=x onerror=strange()>\"' onmouseover=strange() javascript:strange() \x1b[2J\u202e\xff"

// stub is an interface that answers with names as evil as can be.
type stub struct {
	restapi.StrictServerInterface
	mu       sync.Mutex
	name     string
	changes  []string
	killed   bool
	ownPages bool // the policy has some
	newer    bool // there is a job that was submitted later

	file     string // text of the configuration
	readOnly *string

	again time.Duration // Again of the answers about a whole job
	looks int           // at a whole job

	array bool // the job is an array

	adapted    *restapi.Adapted    // of its first stage
	aggregated *restapi.Aggregated // likewise

	unread bool // nothing of its attempts can be read
}

// apart takes a generation apart as if a manager gave ten of each term.
func apart(g uint64) (term, start uint64) { return g / 10, g % 10 }

var base = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

func (s *stub) summary() restapi.JobSummary {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := restapi.JobSummary{ID: "job-7", Name: s.name, User: s.name, Pool: s.name, Priority: "NORMAL", State: "running", Submitted: base, Groups: 10, GroupsFinished: 4, GroupsRunning: 2}
	if s.killed {
		ended := base.Add(time.Hour)
		j.State, j.Ended = "killed", &ended
	}
	return j
}

func (s *stub) GetCluster(context.Context, restapi.GetClusterRequestObject) (restapi.GetClusterResponseObject, error) {
	return restapi.GetCluster200JSONResponse{Body: restapi.Cluster{
		LaunchersByState: map[string]int{"up": 2}, JobsByState: map[string]int{"running": 1}, Slots: []restapi.Slots{{Kind: s.name, Total: 4, Free: 1}}, PolicyDecides: true,
		History: restapi.History{Jobs: 3, Bytes: 5000, BehindSince: &base, Why: &s.name, Missed: 12345, Damaged: []string{s.name}, StoreOlder: 77, RemovedForRoom: 2345, RemovedForRoomAt: &base, TailsBehindSince: &base, TailsWhy: &s.name},
	}}, nil
}

func (s *stub) ListJobs(_ context.Context, q restapi.ListJobsRequestObject) (restapi.ListJobsResponseObject, error) {
	next := "abc"
	l := restapi.JobList{Jobs: []restapi.JobSummary{s.summary()}, Total: 250, Truncated: true, Next: &next}
	s.mu.Lock()
	newer := s.newer
	s.mu.Unlock()
	if newer {
		x := l.Jobs[0]
		x.ID, x.User = "job-8", "somebody"
		l.Jobs = append([]restapi.JobSummary{x}, l.Jobs...)
	}
	if q.Params.Cursor != nil {
		l.Truncated, l.Next = false, nil
	}
	return restapi.ListJobs200JSONResponse{Body: l}, nil
}

func (s *stub) GetJob(_ context.Context, q restapi.GetJobRequestObject) (restapi.GetJobResponseObject, error) {
	if q.Job != "job-7" {
		return nil, status.Errorf(codes.NotFound, "there is no %s", q.Job)
	}
	x := s.summary()
	failure := "it failed: " + s.name
	var array *restapi.Array
	if s.array {
		array = &restapi.Array{Elements: "0-99", Counts: []restapi.ElementCount{{State: "succeeded", Count: 96, Elements: "0-95"}, {State: "failed", Count: 4, Elements: "96-99"}}}
	}
	return restapi.GetJob200JSONResponse{Body: restapi.Job{
		Run:   &restapi.JobRun{Schedule: s.name, Number: 12, Try: 1},
		Array: array, ID: x.ID, Name: x.Name, User: x.User, Pool: x.Pool, Priority: x.Priority, State: x.State, Submitted: x.Submitted, Ended: x.Ended, Groups: 10, GroupsFinished: 4,
		Stages: []restapi.Stage{{Name: s.name, Nodes: 9, Finished: 4, Running: 2, Adapted: s.adapted, Aggregated: s.aggregated}, {Name: "publish", Finished: 1}}, Failure: &failure, Waiting: []string{s.name}, Notes: []string{s.name}, Outputs: []string{s.name}, Kept: []string{s.name},
		Counters: []restapi.Counter{{Name: s.name, Value: 12345}},
	}}, nil
}

func (s *stub) ListElements(_ context.Context, q restapi.ListElementsRequestObject) (restapi.ListElementsResponseObject, error) {
	next, last := "elements-k", "attempt-3"
	l := restapi.ElementList{Elements: []restapi.Element{{Index: 96, State: "failed", Attempts: 2, Attempt: &last, Launcher: &s.name, Reason: &s.name}}, Incomplete: &s.name}
	if q.Params.Cursor == nil {
		l.Truncated, l.Next = true, &next
	}
	if q.Params.State != nil {
		l.Elements[0].State = (*q.Params.State)[0]
	}
	return restapi.ListElements200JSONResponse{Body: l}, nil
}

func (s *stub) RetryElements(_ context.Context, q restapi.RetryElementsRequestObject) (restapi.RetryElementsResponseObject, error) {
	what := "all"
	if q.Body.Elements != nil {
		what = *q.Body.Elements
	}
	s.change(fmt.Sprintf("retry %s of %s", what, q.Job))
	return restapi.RetryElements204Response{}, nil
}

func (s *stub) attempt() restapi.Attempt {
	ran := float32(1.5)
	reason, job := s.name, "job-8"
	return restapi.Attempt{ID: "attempt-3", Stage: s.name, Launcher: s.name, State: "preempted", Started: &base, RunningSeconds: &ran, Reason: &reason, PreemptedFor: &job}
}

func (s *stub) GetWhole(ctx context.Context, q rest.WholeQuery) (w rest.Whole, err error) {
	a, err := s.GetJob(ctx, restapi.GetJobRequestObject{Job: q.Job})
	if err != nil {
		return w, err
	}
	s.mu.Lock()
	s.looks++
	s.mu.Unlock()
	ended := map[string][]int{"finished": {0, 1}, "failed": {1, 0}}
	damage := "history file " + s.name + " is damaged"
	w = rest.Whole{
		Again: s.again,
		Job:   a.(restapi.GetJob200JSONResponse).Body,
		Graph: &restapi.Graph{
			Stages:      []restapi.GraphStage{{Name: s.name, Nodes: 9}, {Name: "reduce", Nodes: 1}},
			Connections: []restapi.Connection{{From: s.name, To: "reduce", Channel: "file", Pattern: "all_to_all"}},
		},
		Distribution: &restapi.Distribution{Stage: s.name, Running: restapi.Quantiles{Count: 4, Min: 1, P50: 2, Max: 90}, Histogram: []restapi.Bucket{{From: 1, To: 2, Count: 3}, {From: 80, To: 90, Count: 1}}, Slowest: []restapi.Attempt{s.attempt()}},
		Timeline:     restapi.Timeline{From: base, To: base.Add(time.Minute), Buckets: 2, Lanes: []restapi.Lane{{Name: s.name, Running: []float32{1, 2}, Ended: &ended}}},
		Attempts:     restapi.AttemptList{Attempts: []restapi.Attempt{s.attempt()}, Total: 2_000_000, Kept: 1_000_000},
	}
	w.Job.Damage = &damage
	if s.unread {
		w.Attempts, w.Distribution, w.Graph, w.Timeline.Lanes = restapi.AttemptList{}, &restapi.Distribution{Stage: s.name}, nil, nil
	}
	over := base.Add(time.Minute)
	w.Reasons = &restapi.ReasonList{Reasons: []restapi.Reason{{From: base, To: &over, Reason: s.name}, {From: over, Reason: s.name}}, Dropped: 1, Lacks: []string{s.name}}
	return w, nil
}

func (s *stub) GetAttemptLog(_ context.Context, q restapi.GetAttemptLogRequestObject) (restapi.GetAttemptLogResponseObject, error) {
	if q.Attempt != "attempt-3" {
		return nil, status.Errorf(codes.NotFound, "%s has no %s: %s", q.Job, q.Attempt, s.name)
	}
	l := &rest.AttemptLog{}
	l.From, l.Length, l.Over, l.Note = 100, int64(100+len(s.name)), true, "the last bytes; its launcher is gone"
	l.Text = io.NopCloser(strings.NewReader(s.name + "\x1b[31m\xff"))
	return l, nil
}

func (s *stub) GetLauncher(_ context.Context, q restapi.GetLauncherRequestObject) (restapi.GetLauncherResponseObject, error) {
	if q.Launcher != "l1" {
		return nil, status.Errorf(codes.NotFound, "there is no launcher %q", q.Launcher)
	}
	there := []restapi.LauncherAttempt{{Job: "job-7", JobName: s.name, ID: "attempt-3", Stage: &s.name, State: "running", Since: &base}}
	return restapi.GetLauncher200JSONResponse{Body: restapi.LauncherDetails{
		Name: s.name, Host: s.name, Rack: &s.name, State: "suspect", Slots: []restapi.Slots{{Kind: s.name, Total: 2, Free: 1}}, HTTPAddress: &s.name, DataAddress: &s.name, Version: &s.name,
		Joined: &base, Swap: 5, Attempts: there, AttemptsLeftOut: 1, Ended: there, Problems: []string{s.name},
	}}, nil
}

func (s *stub) ListLaunchers(context.Context, restapi.ListLaunchersRequestObject) (restapi.ListLaunchersResponseObject, error) {
	return restapi.ListLaunchers200JSONResponse{Body: restapi.LauncherList{Total: 2, Launchers: []restapi.LauncherSummary{
		{Name: "l1", Host: s.name, Rack: &s.name, State: "up", Slots: []restapi.Slots{{Kind: s.name, Total: 2, Free: 1}}, Memory: 1 << 30, CPU: new(float32), Version: &s.name},
		{Name: s.name, Host: s.name, State: "draining"},
	}}}, nil
}

func (s *stub) schedule() restapi.Schedule {
	berlin := time.FixedZone("CEST", 2*60*60)
	return restapi.Schedule{
		Owner: s.name, Name: "nightly", Cron: s.name, Zone: s.name, IfRunning: restapi.IfRunningQueue, StartDeadlineSeconds: 3600, Command: []string{s.name, s.name}, Folder: s.name,
		Next: []time.Time{base.In(berlin)}, Skipped: 2, Missed: 3,
		Runs: []restapi.ScheduleRun{{Number: 1, Due: base, State: "succeeded", Jobs: []string{"job-7"}}, {Number: 2, Due: base.In(berlin), State: "failed", Reason: &s.name, Runner: &s.name, Started: &base, Jobs: []string{"job-8"}}},
	}
}

func (s *stub) ListSchedules(context.Context, restapi.ListSchedulesRequestObject) (restapi.ListSchedulesResponseObject, error) {
	return restapi.ListSchedules200JSONResponse{Schedules: []restapi.Schedule{s.schedule()}, Total: 1}, nil
}

func (s *stub) ListUsers(context.Context, restapi.ListUsersRequestObject) (restapi.ListUsersResponseObject, error) {
	return restapi.ListUsers200JSONResponse{Total: 1, Users: []restapi.User{{
		Name: s.name, Slots: &restapi.BoundedAmount{Held: 1234, Limit: 5678}, Memory: &restapi.BoundedAmount{Held: 1 << 30, Limit: 1 << 40},
		Resources: &[]restapi.BoundedResource{{Kind: s.name, Held: 2, Limit: 3}},
	}}}, nil
}

func (s *stub) GetSchedule(context.Context, restapi.GetScheduleRequestObject) (restapi.GetScheduleResponseObject, error) {
	return restapi.GetSchedule200JSONResponse(s.schedule()), nil
}

func (s *stub) noteSchedule(what, owner, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes = append(s.changes, what+" "+owner+"/"+name)
}

func (s *stub) PauseSchedule(_ context.Context, q restapi.PauseScheduleRequestObject) (restapi.PauseScheduleResponseObject, error) {
	s.noteSchedule("pause", q.Owner, q.Schedule)
	return restapi.PauseSchedule204Response{}, nil
}

func (s *stub) RunSchedule(_ context.Context, q restapi.RunScheduleRequestObject) (restapi.RunScheduleResponseObject, error) {
	s.noteSchedule("run", q.Owner, q.Schedule)
	return restapi.RunSchedule204Response{}, nil
}

func (s *stub) ListQueue(_ context.Context, q restapi.ListQueueRequestObject) (restapi.ListQueueResponseObject, error) {
	place, next := 1, "abc"
	l := restapi.Queue{Order: restapi.QueueOrderPolicy, Total: 250, Truncated: true, Next: &next, Entries: []restapi.QueueEntry{
		{Place: &place, ID: "job-7", Name: s.name, User: s.name, Pool: s.name, Priority: "NORMAL", Since: base, Ready: 9, Groups: 2, Memory: 1 << 30, Needs: []restapi.Need{{Kind: s.name, Count: 2, Total: 4}}, Reasons: []string{s.name, s.name}},
		{ID: "job-8", Name: s.name, State: "asked", Since: base},
	}}
	if q.Params.Cursor != nil {
		l = restapi.Queue{Order: restapi.QueueOrderWaited}
	}
	return restapi.ListQueue200JSONResponse{Body: l}, nil
}

func (s *stub) GetPools(context.Context, restapi.GetPoolsRequestObject) (restapi.GetPoolsResponseObject, error) {
	most := 9
	return restapi.GetPools200JSONResponse{Body: restapi.Pools{
		Policy: s.name, At: &base, Counted: []restapi.PoolCount{{Name: s.name, Jobs: 2, Ready: 3}},
		Pools: []restapi.PoolShare{
			{Name: "root", Kind: "x", Weight: 1},
			{Name: s.name, Parent: pointerTo("root"), Kind: s.name, Weight: 1.5, FairShare: 2.25, MaxShare: &most, BelowMinimumSince: &base, BelowShareSince: &base},
			{Name: "below", Parent: &s.name, Kind: "x"},
		},
	}}, nil
}

func pointerTo(text string) *string { return &text }

func (s *stub) GetPolicy(context.Context, restapi.GetPolicyRequestObject) (restapi.GetPolicyResponseObject, error) {
	n, generation := int64(4), int64(34)
	return restapi.GetPolicy200JSONResponse{
		Shadows: []restapi.PolicyShadow{{Name: s.name, State: restapi.PolicyShadowStateDropped, Problem: &s.name}}, Name: "fallback", Configured: s.name, Version: &s.name, State: restapi.PolicyStateFallback, Generation: &generation, Since: &base, Restarts: 3, Pages: s.ownPages, Memory: &n, MemoryMax: &n, Rounds: &restapi.RoundTimes{Mean: .01},
		Problems: []restapi.PolicyProblem{{What: "policy", Text: s.name, At: base}}, Accepted: []restapi.Count{{Name: "launch", Count: 5}}, Refused: []restapi.Count{{Name: "no capacity", Count: 2}}, Facts: []restapi.Property{{Name: s.name, Value: s.name}},
	}, nil
}

func (s *stub) ListDecisions(_ context.Context, q restapi.ListDecisionsRequestObject) (restapi.ListDecisionsResponseObject, error) {
	next, job, n, id, attempt := "abc", "job-7", 2, "bundle-9", "attempt-9"
	l := restapi.DecisionList{Total: 250, Came: 300, Truncated: true, Next: &next, Decisions: []restapi.Decision{
		{Number: 2, At: base, Kind: restapi.DecisionKindPreempt, Job: &job, From: &job, Attempt: &attempt, Count: &n, Launcher: &s.name, Reason: &s.name, Detail: &s.name}, {Number: 1, At: base, Kind: restapi.DecisionKindLaunch, Bundle: &id, Accepted: true},
	}}
	if q.Params.Cursor != nil {
		l = restapi.DecisionList{}
	}
	return restapi.ListDecisions200JSONResponse{Body: l}, nil
}

// series returns series of pools with hostile names.
func (s *stub) series(w http.ResponseWriter, _ *http.Request) {
	one, none := float32(1), (*float32)(nil)
	a := restapi.PoolSeries{Every: 1, Times: []int64{1000, 1001, 1010}, Slots: []float32{4, 4, 4}, Free: []float32{1, 1, 1}, LeftOut: 3}
	for _, name := range []string{"root", s.name} {
		own, running := &one, []float32{1, 2, 3}
		if name == "root" { // it has the other in it
			own, running = new(float32), []float32{0, 0, 0}
		}
		a.Pools = append(a.Pools, restapi.PoolLine{
			Name: name, Running: running, Ready: []float32{0, 0, 0}, Jobs: []float32{1, 1, 1}, Held: []*float32{&one, none, &one}, Own: []*float32{own, none, own}, Demand: []*float32{&one, none, &one}, Share: []*float32{&one, none, &one},
		})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a)
}

func (s *stub) change(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes = append(s.changes, text)
}

func (s *stub) KillJob(_ context.Context, q restapi.KillJobRequestObject) (restapi.KillJobResponseObject, error) {
	if q.Body.Elements != nil {
		s.change(fmt.Sprintf("kill %s of %s: %s", *q.Body.Elements, q.Job, *q.Body.Reason))
		return restapi.KillJob204Response{}, nil
	}
	s.change(fmt.Sprintf("kill %s: %s", q.Job, *q.Body.Reason))
	s.mu.Lock()
	s.killed = true
	s.mu.Unlock()
	return restapi.KillJob204Response{}, nil
}

func (s *stub) UpdateJob(_ context.Context, q restapi.UpdateJobRequestObject) (restapi.UpdateJobResponseObject, error) {
	text := "update " + q.Job
	if q.Body.Pool != nil {
		text += " pool " + *q.Body.Pool
	}
	if q.Body.Priority != nil {
		text += " priority " + *q.Body.Priority
	}
	if s.change(text); q.Body.Pool != nil && *q.Body.Pool == "closed" {
		return nil, status.Error(codes.PermissionDenied, `ann may not submit to pool "closed"`)
	}
	return restapi.UpdateJob204Response{}, nil
}

func (s *stub) DrainLauncher(_ context.Context, q restapi.DrainLauncherRequestObject) (restapi.DrainLauncherResponseObject, error) {
	s.change("drain " + q.Launcher)
	return restapi.DrainLauncher204Response{}, nil
}

func (s *stub) UndrainLauncher(_ context.Context, q restapi.UndrainLauncherRequestObject) (restapi.UndrainLauncherResponseObject, error) {
	s.change("undrain " + q.Launcher)
	return restapi.UndrainLauncher204Response{}, nil
}

// serve serves the pages of a stub, below a path as behind a proxy.
func serve(t *testing.T, s *stub, actions bool) string {
	t.Helper()
	mux := http.NewServeMux()
	for pattern, handler := range New(Needs{Shown: s, Actions: actions, Generation: apart, Failed: func(context.Context, error) {}}).Routes() {
		mux.Handle(pattern, handler)
	}
	mux.HandleFunc("GET /api/v1/pools/series", s.series)
	mux.HandleFunc("GET /api/v1/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "event: jobs\ndata: 1\n\nevent: launchers\ndata: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	return serveMux(t, mux)
}

// serveMux serves below a path, as behind a proxy, and returns where.
func serveMux(t *testing.T, mux http.Handler) string {
	t.Helper()
	server := httptest.NewServer(http.StripPrefix("/behind/a/proxy", mux))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL + "/behind/a/proxy"
}

func get(t *testing.T, target string) (int, http.Header, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	return proctest.Answer(t, q)
}

// pathsOf are the pages with all that they can show.
var pathsOf = []string{
	"/launchers/l1", "/jobs/job-7/attempts/attempt-3/log", "/jobs/job-7/attempts/attempt-3/log?until=100", "/jobs/job-7/attempts/attempt-4/log", "/", "/jobs", "/jobs?state=running&user=x&cursor=abc", "/jobs/job-7", "/jobs/job-7?state=failed", "/jobs/job-7?by=stage", "/jobs/job-7?element-state=failed&element-cursor=elements-k", "/launchers", "/jobs/job-9", "/jobs/none", "/jobs?state=odd",
	"/queue", "/queue?pool=x&user=x&cursor=abc", "/pools", "/pools?pool=root&span=4h", "/policy", "/policy?job=job-7&launcher=x&kind=launch&outcome=refused&reason=x&cursor=abc",
	"/users", "/users?user=ann&cursor=users-x", "/schedules", "/schedules?owner=ann&cursor=schedules-x", "/schedules/ann/nightly", "/settings", "/settings?all=1", "/settings/versions/2", "/settings/versions/x", "/audit", "/audit?who=x&result=ok&since=2026-03-01T10:00&cursor=1-5",
}

// wrongPaths ask for what there is not.
var wrongPaths = []string{"/jobs?name=%ff", "/queue?user=%zz", "/jobs?state=running;user=x", "/pools?span=odd", "/policy?kind=odd", "/policy?outcome=odd", "/policy?job=odd", "/audit?result=odd", "/audit?since=odd", "/jobs/job-7?element-state=odd"}

// givenBack matches values that a form returns unchanged: they are not part of the text.
var givenBack = regexp.MustCompile(` (value|data-pool)="[^"<>]*"|<textarea[^<>]*>[^<>]*</textarea>`)

// No name becomes markup on any page, and none is lost: it is there as text.
func TestNamesStayText(t *testing.T) {
	server := serve(t, &stub{name: evil, array: true}, true)
	for _, path := range slices.Concat(pathsOf, wrongPaths) {
		code, head, page := get(t, server+path)
		scripts := 2
		if strings.HasPrefix(path, "/pools") && code == http.StatusOK {
			scripts = 4
		}
		if want := map[string]int{"/jobs/job-9": 404, "/jobs/none": 404, "/jobs?state=odd": 400, "/jobs?name=%ff": 400, "/queue?user=%zz": 400, "/jobs?state=running;user=x": 400, "/pools?span=odd": 400, "/policy?kind=odd": 400, "/policy?outcome=odd": 400, "/policy?job=odd": 400, "/settings/versions/x": 404, "/audit?result=odd": 400, "/audit?since=odd": 400, "/jobs/job-7?element-state=odd": 400}[path]; want != 0 && code != want || want == 0 && code != http.StatusOK {
			t.Errorf("%s: %d", path, code)
		}
		page = givenBack.ReplaceAllString(page, "")
		if strings.Contains(page, "<img") || strings.Count(page, "<script") != scripts || strings.Contains(page, "\x1b") || strings.Contains(page, "\u202e") || strings.Contains(page, "\xff") {
			t.Errorf("%s has something of a name as it was given:\n%s", path, page)
		}
		if !strings.HasPrefix(head.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'") || head.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s is sent with %v", path, head)
		}
		if (strings.HasPrefix(path, "/jobs/job-7") && code == http.StatusOK || strings.HasPrefix(path, "/schedules") || strings.HasPrefix(path, "/users") || path == "/queue" || path == "/pools" || path == "/policy" || strings.HasPrefix(path, "/settings") && code == http.StatusOK || path == "/audit") && !strings.Contains(page, "&lt;script&gt;strange()&lt;/script&gt;") {
			t.Errorf("%s does not show the name", path)
		}
	}
}

// linked matches what a page links to, or loads.
var linked = regexp.MustCompile(` (?:href|src|action|formaction)="([^"]*)"`)

// Behind a proxy that puts the pages below a path, all that a page leads to lies below it too, and is there.
func TestLinksLeadSomewhere(t *testing.T) {
	server := serve(t, &stub{name: "l1", array: true}, true)
	seen := map[string]bool{}
	for _, path := range pathsOf {
		at, err := url.Parse(server + path)
		if err != nil {
			t.Fatal(err)
		}
		_, _, page := get(t, at.String())
		for _, m := range linked.FindAllStringSubmatch(page, -1) {
			to, err := at.Parse(html.UnescapeString(m[1]))
			if err != nil || !strings.HasPrefix(to.String(), server+"/") {
				t.Errorf("%s leads to %q", path, m[1])
				continue
			}
			to.Fragment = ""
			below := strings.TrimPrefix(to.Path, "/behind/a/proxy")
			if seen[to.String()] || to.Path == at.Path || strings.HasPrefix(below, "/api/v1/") || below == "/scheduler" { // others answer these
				continue
			}
			seen[to.String()] = true
			if code, _, _ := get(t, to.String()); code == http.StatusNotFound && below != "/jobs/job-8" {
				t.Errorf("%s leads to %s, which is not there", path, to)
			}
		}
	}
	if len(seen) < 30 {
		t.Errorf("only %v were followed", seen)
	}
}

// The first page says when the fallback decides in the place of the chosen one, and each page which of all it is.
func TestWhatDecidesIsSaid(t *testing.T) {
	server := serve(t, &stub{name: "mine"}, true)
	for path, want := range map[string]string{
		"/": "The fallback decides in the place of mine since", "/policy": "<dt>Generation</dt><dd>3.4</dd>", "/jobs/job-7": `jobs" aria-current="page">Jobs<`, "/queue": `queue" aria-current="page">Queue<`,
	} {
		if _, _, page := get(t, server+path); strings.Count(page, want) != 1 {
			t.Errorf("%s does not say once %q:\n%s", path, want, page)
		}
	}
}

// The parameters of a job's page stay when one of them changes.
func TestFiltersStayTogether(t *testing.T) {
	_, _, page := get(t, serve(t, &stub{name: "map"}, true)+"/jobs/job-7?stage=map&state=failed&by=stage&pause=1&cursor=abc")
	for _, want := range []string{
		`href="?by=launcher&amp;pause=1&amp;stage=map&amp;state=failed#timeline"`, `href="?by=stage&amp;pause=1&amp;stage=publish&amp;state=failed"`, `<input type="hidden" name="by" value="stage">`, `<input type="hidden" name="pause" value="1">`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("it lacks %s:\n%s", want, page)
		}
	}
}

// A job array has its elements by state, a page of them, and the way to the others.
func TestElementsOfAnArray(t *testing.T) {
	server := serve(t, &stub{name: "map", array: true}, true)
	_, _, page := get(t, server+"/jobs/job-7?stage=map")
	for _, want := range []string{
		`<a href="?element-state=failed&amp;stage=map#elements">failed</a></th><td class="n">4</td><td><code>96-99</code>`, `>job-7[96]</th>`, `/jobs/job-7/attempts/attempt-3/log">attempt-3</a>`,
		`href="?element-cursor=elements-k&amp;stage=map#elements" rel="next"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("it lacks %s:\n%s", want, page)
		}
	}
	if _, _, page := get(t, server+"/jobs/job-7?element-cursor=elements-k&element-state=failed"); !strings.Contains(page, `href="?element-state=failed#elements">First page`) || strings.Contains(page, `#elements" rel="next"`) {
		t.Errorf("the last page is\n%s", page)
	}
}

// A stage whose readers were chosen by bytes says which, and why.
func TestAnAdaptedStageSaysWhatWasJoinedAndSplit(t *testing.T) {
	median, joined := int64(4<<20), int64(64<<20)
	server := serve(t, &stub{name: "reduce", adapted: &restapi.Adapted{
		Partitions: 64, Joined: 62, Split: 1, Pieces: 20, LargestBytes: 61 << 20, MedianBytes: &median, JoinBytes: &joined, RangesLeftOut: 7,
		Ranges: []restapi.AdaptedRange{{Node: 0, Nodes: 1, Partition: 0, Partitions: 12, Bytes: 48 << 20}, {Node: 1, Nodes: 20, Partition: 12, Partitions: 1, Bytes: 3 << 29}},
	}}, true)
	_, _, page := get(t, server+"/jobs/job-7")
	for _, want := range []string{
		"64 partitions, 62 of them joined with others, up to 64 MiB together; 1 split among 20 nodes. The median partition has 4.0 MiB. The largest node reads 61 MiB.",
		`<th scope="row">0</th><td>0 to 11</td><td>joined</td><td class="n">48 MiB</td>`, `<th scope="row">1 to 20</th><td>12</td><td>split</td><td class="n">1.5 GiB</td>`, "7 more are joined",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("it lacks %s:\n%s", want, page)
		}
	}
}

// An aggregating stage says which nodes were chosen, and by which rule.
func TestAnAggregatingStageSaysWhatWasChosen(t *testing.T) {
	server := serve(t, &stub{name: "combine", aggregated: &restapi.Aggregated{
		By: restapi.AggregatedByMachine, LeastBytes: 16 << 20, Chosen: true, Places: 3, Nodes: 2, Covered: 9, Direct: 1, Bytes: 48 << 20,
	}}, true)
	_, _, page := get(t, server+"/jobs/job-7")
	const want = "2 of 3 machines got a node. Nodes read 9 writers with 48 MiB, and 1 writers are read directly. A machine gets one for at least two writers that stored 16 MiB together."
	if !strings.Contains(page, want) {
		t.Errorf("it lacks %s:\n%s", want, page)
	}
}

// Problems of the kept history stand at the top, each in a line of its own.
func TestNowSaysWhatIsWrongWithHistory(t *testing.T) {
	_, _, page := get(t, serve(t, &stub{name: "no space left"}, true)+"/")
	for _, want := range []string{
		"History can't be written since", "has 77 older files", "2,345 of the oldest jobs that ended were removed", "Ends of attempts' logs can't be written since", "History lacks 12,345 attempts", "Files of history can't be read",
	} {
		if strings.Count(page, want) != 1 {
			t.Errorf("it does not say once %q:\n%s", want, page)
		}
	}
}

// A machine's load is shown with its launcher. An unknown load is not shown, rather than as 0 %.
func TestLaunchersSayHowBusyTheyAre(t *testing.T) {
	_, _, page := get(t, serve(t, &stub{name: "oak"}, true)+"/launchers")
	if strings.Count(page, `<td class="n">0 %</td><td class="n">-</td>`) != 1 || strings.Count(page, `<td class="n">-</td><td class="n">-</td>`) != 1 {
		t.Errorf("it shows\n%s", page)
	}
}

// Why a launcher is excluded, until when, and how that is ended, stands on its page as an alert.
func TestAnExcludedLauncherSaysSo(t *testing.T) {
	l := &wire.LauncherStatus{Name: "l1", ExcludedFor: []uint64{7, 8}, ExcludedUntil: base.UnixNano()}
	why := wire.WhyExcluded(l) + ", or until hamadryad undrain l1"
	_, _, page := get(t, serve(t, &stub{name: why}, true)+"/launchers/l1")
	if alert := `<p class="alert" role="alert">` + why + `</p>`; !strings.Contains(why, "job-7, job-8") || !strings.Contains(page, alert) {
		t.Errorf("it does not show %s:\n%s", alert, page)
	}
}

// A schedule's page has its times in its zone, and its last runs with their jobs and reasons, the
// newest first.
func TestAScheduleShowsItsRuns(t *testing.T) {
	server := serve(t, &stub{name: "exit status 1"}, true)
	_, _, page := get(t, server+"/schedules/exit%20status%201/nightly")
	for _, want := range []string{
		"<li>2026-03-01 12:00:00 &#43;02:00</li>", `<a href="./../../jobs/job-7">job-7</a>`, "<td>exit status 1</td>", `action="./../../schedules/exit%20status%201/nightly/change"`, "Pause it",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("it lacks %s:\n%s", want, page)
		}
	}
	if first, second := strings.Index(page, `id="run-2"`), strings.Index(page, `id="run-1"`); first < 0 || second < first {
		t.Errorf("run 2 stands at %d, and run 1 at %d", first, second)
	}
	if _, _, page := get(t, server+"/schedules"); !strings.Contains(page, `<a href="./schedules/exit%20status%201/nightly">nightly</a>`) || !strings.Contains(page, ": exit status 1</td>") {
		t.Errorf("the list lacks a link, or the last run's reason:\n%s", page)
	}
	if _, _, page := get(t, server+"/jobs/job-7"); !strings.Contains(page, `<a href="./../schedules/exit%20status%201/exit%20status%201#run-12">exit status 1, run 12</a>`) {
		t.Errorf("the page of a job that a run submitted has no link to the run:\n%s", page)
	}
}

// To the policy's own pages a link leads where it has some.
func TestWhereThePolicyHasPages(t *testing.T) {
	s := &stub{name: "fair"}
	server := serve(t, s, true)
	for _, s.ownPages = range []bool{false, true} {
		if _, _, page := get(t, server+"/policy"); strings.Contains(page, `href="./scheduler"`) != s.ownPages {
			t.Errorf("it has pages: %t, and the page is\n%s", s.ownPages, page)
		}
	}
}

// The last step of a job has no nodes: it is never shown as work of which nothing is done.
func TestProgressIsOfNodes(t *testing.T) {
	_, _, page := get(t, serve(t, &stub{name: "map"}, true)+"/jobs/job-7")
	if !strings.Contains(page, `>44 %</progress>`) || strings.Contains(page, `>0 %</progress>`) {
		t.Errorf("progress is shown of what has no nodes:\n%s", page)
	}
}

// For a job with unreadable attempts the page says so, and not that there were none.
func TestWhatCantBeReadIsNotDrawn(t *testing.T) {
	s := &stub{name: "map"}
	server := serve(t, s, true)
	_, _, whole := get(t, server+"/jobs/job-7")
	s.unread = true
	code, _, page := get(t, server+"/jobs/job-7")
	for _, says := range []string{"Not all of this job can be shown: history file map is damaged", "They can't be read", "Counters"} {
		if code != http.StatusOK || !strings.Contains(page, says) {
			t.Errorf("%d: it does not say %q:\n%s", code, says, page)
		}
	}
	for _, drawn := range []string{"What ran when", "How long attempts", `aria-label="Attempts"`} {
		if strings.Contains(page, drawn) || !strings.Contains(whole, drawn) {
			t.Errorf("it has %q, or the whole has not", drawn)
		}
	}
}

// Forms make their changes, and lead back to the page that shows them. Without actions there are
// none.
func TestForms(t *testing.T) {
	s := &stub{name: "fine"}
	server := serve(t, s, true)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, x := range []struct {
		path, form string
		code       int
		to, change string
	}{
		{"/jobs/job-7/update", "was-pool=a&pool=a&was-priority=LOW&priority=HIGH", 303, "../job-7", "update job-7 priority HIGH"},
		{"/jobs/job-7/update", "was-pool=a&pool=b&was-priority=LOW&priority=LOW", 303, "../job-7", "update job-7 pool b"},
		{"/jobs/job-7/update", "was-pool=a&pool=a&was-priority=LOW&priority=LOW", 303, "../job-7", ""},
		{"/jobs/job-7/update", "was-pool=a&pool=closed&was-priority=LOW&priority=LOW", 403, "", "update job-7 pool closed"},
		{"/jobs/job-7/kill", "reason=%ff", 400, "", ""},
		{"/jobs/job-7/kill", "reason=" + strings.Repeat("x", textMax+1), 400, "", ""},
		{"/jobs/job-7/kill", "reason=" + strings.Repeat("x", formMax), 413, "", ""},
		{"/jobs/job-7/kill", "elements=3-18:5&reason=a+whim", 303, "../job-7", "kill 3-18:5 of job-7: a whim"},
		{"/jobs/job-7/retry", "elements=7", 303, "../job-7", "retry 7 of job-7"},
		{"/jobs/job-7/retry", "elements=", 303, "../job-7", "retry all of job-7"},
		{"/jobs/job-7/retry", "elements=%ff", 400, "", ""},
		{"/jobs/job-7/kill", "reason=a+whim", 303, "../job-7", "kill job-7: a whim"},
		{"/launchers/l1/drain", "do=drain", 303, "../../launchers", "drain l1"},
		{"/launchers/l1/drain", "do=undrain", 303, "../../launchers", "undrain l1"},
		{"/launchers/l1/drain", "", 400, "", ""},
		{"/schedules/ann/nightly/change", "do=pause", 303, "../nightly", "pause ann/nightly"},
		{"/schedules/a%2Fb/nightly/change", "do=run", 303, "../nightly", "run a/b/nightly"},
		{"/schedules/ann/nightly/change", "do=remove", 400, "", ""},
	} {
		s.changes = nil
		r, err := client.Post(server+x.path, "application/x-www-form-urlencoded", strings.NewReader(x.form))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if got := strings.Join(s.changes, ", "); r.StatusCode != x.code || r.Header.Get("Location") != x.to || got != x.change {
			t.Errorf("%s %.40s: %d to %q, changed %q", x.path, x.form, r.StatusCode, r.Header.Get("Location"), got)
		}
		if back, err := r.Location(); err == nil {
			if code, _, _ := get(t, back.String()); code != http.StatusOK {
				t.Errorf("%s leads to %s: %d", x.path, back, code)
			}
		}
	}
	if _, _, page := get(t, serve(t, &stub{name: "fine"}, false)+"/jobs/job-7"); strings.Contains(page, `method="post"`) {
		t.Error("there are forms where nothing is to be changed")
	}
}

// An attempt's log is shown as text, and control characters in it are spelled out.
func TestLogs(t *testing.T) {
	server := serve(t, &stub{name: "<b>bold</b>"}, true)
	_, _, page := get(t, server+"/jobs/job-7/attempts/attempt-3/log")
	for _, want := range []string{`&lt;b&gt;bold&lt;/b&gt;\x1b[31m\ufffd`, "its launcher is gone", `href="?until=100"`, "hamadryad logs attempt-3"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if _, _, page := get(t, server+"/jobs/job-7/attempts/attempt-4/log"); !strings.Contains(page, "has no attempt-4") {
		t.Errorf("of an attempt that is not there: %s", page)
	}
	for path, want := range map[string]int{"/jobs/x/attempts/attempt-3/log": 404, "/jobs/job-7/attempts/3/log": 404, "/jobs/job-7/attempts/x/log": 404, "/jobs/job-7/attempts/attempt-3/log?until=x": 400, "/jobs/job-7/attempts/attempt-3/log?until=-5": 400} {
		if code, _, _ := get(t, server+path); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
}

// The page of a live job is refreshed also while nothing changes, since it shows durations; the
// page of an ended job is not.
func TestAJobsPageGoesOn(t *testing.T) {
	over := base
	for _, x := range []struct {
		page jobPage
		want time.Duration
	}{
		{jobPage{}, idleAgain},
		{jobPage{Again: time.Second}, time.Second},
		{jobPage{Job: restapi.Job{Ended: &over}, Over: true}, 0},
	} {
		if got := x.page.refreshAfter(); got != x.want {
			t.Errorf("over: %t, its drawings can be newer after %v: it is made new after %v, want %v", x.page.Over, x.page.Again, got, x.want)
		}
	}
}

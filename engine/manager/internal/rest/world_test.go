package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// service answers from existing jobs, and records requested changes. It hides eve's jobs.
type service struct {
	model   *query.Model
	jobs    *query.Reader
	mu      sync.Mutex
	asked   []string
	looks   int    // that were granted
	printed string // by attempt 1
	goesOn  bool   // it does not end
	rights  atomic.Uint64
}

func (s *service) Rights(context.Context) uint64 { return s.rights.Load() }

const secretive = "eve"

func (s *service) FindJob(ctx context.Context, id scheduler.JobID) (*query.Job, error) {
	j, err := s.jobs.Find(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case j == nil:
		return nil, status.Errorf(codes.NotFound, "there is no %v", id)
	case j.Status.Summary.User == secretive:
		return nil, status.Error(codes.PermissionDenied, "that is eve's")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	return j, nil
}

func (s *service) Explained(_ context.Context, j *query.Job) (*wire.JobStatus, error) {
	return j.Status, nil
}

func (s *service) Launchers(ctx context.Context, q *wire.LaunchersRequest) (*wire.LaunchersReply, error) {
	list, err := s.model.Launchers(ctx)
	for _, l := range list {
		if err == nil && slices.Contains(q.AttemptsOf, l.Name) {
			err = s.jobs.AddAttempts(ctx, l, 500, s.FindJob)
		}
	}
	return &wire.LaunchersReply{Launchers: list}, err
}

func (s *service) MayHear(ctx context.Context, job scheduler.JobID) error {
	if job == 0 {
		return nil
	}
	j, err := s.FindJob(ctx, job)
	if err == nil {
		j.Close()
	}
	return err
}

func (s *service) MayLook(context.Context) func(*wire.JobSummary) bool {
	return func(j *wire.JobSummary) bool { return j.User != secretive }
}

func (s *service) MayLookAtUser(context.Context) func(string) bool {
	return func(user string) bool { return user != secretive }
}

// Log answers with s.printed, as api.Server does.
func (s *service) Log(_ context.Context, q query.LogQuery) (*query.Log, error) {
	if q.Attempt != 1 {
		return nil, status.Errorf(codes.NotFound, "there is no attempt %d", q.Attempt)
	}
	n := int64(len(s.printed))
	l := &query.Log{From: q.From, Until: n, Length: n, Over: !s.goesOn}
	if q.From < 0 {
		l.From = max(0, n+q.From)
	}
	to := n
	if q.To > 0 {
		to = min(n, q.To)
	}
	text := s.printed[min(l.From, n):max(min(l.From, n), to)]
	if q.Follow && s.goesOn {
		text += "and more\n"
	}
	l.Text = io.NopCloser(strings.NewReader(text))
	return l, nil
}

func (s *service) note(m fmt.Stringer) (*wire.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, m.String())
	return &wire.Empty{}, nil
}

func (s *service) Kill(_ context.Context, q *wire.JobRef) (*wire.Empty, error) { return s.note(q) }
func (s *service) Retry(_ context.Context, q *wire.RetryRequest) (*wire.Empty, error) {
	return s.note(q)
}

func (s *service) Update(_ context.Context, q *wire.UpdateRequest) (*wire.Empty, error) {
	return s.note(q)
}

func (s *service) Schedules(context.Context, *wire.SchedulesRequest) (*wire.SchedulesReply, error) {
	return &wire.SchedulesReply{}, nil
}

func (s *service) AddSchedule(_ context.Context, q *wire.AddScheduleRequest) (*wire.Empty, error) {
	return s.note(q)
}

func (s *service) ChangeSchedule(_ context.Context, q *wire.ChangeScheduleRequest) (*wire.Empty, error) {
	return s.note(q)
}

func (s *service) Drain(_ context.Context, q *wire.DrainRequest) (*wire.Empty, error) {
	if q.Launcher != "l1" {
		return nil, status.Error(codes.InvalidArgument, wire.NoLauncher(q.Launcher)) // as the core does
	}
	return s.note(q)
}

// world is a server over a model and a history that a test fills.
type world struct {
	testing.TB
	model   *query.Model
	history *history.History
	folder  string // of history
	records uint64 // the last record sent to history
	service *service
	cache   *policyhost.PoolCache
	kept    *kept
	server  *Server
	mux     *http.ServeMux
}

// The shared encoder is used once here, so that it does not belong to a bubble of synctest, in which its first user may be.
var _, _ = jobfile.Pack(nil, []byte("x"))

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldOf(t, history.Options{})
}

// newWorldOf has a history that is bounded so.
func newWorldOf(t testing.TB, o history.Options) *world {
	t.Helper()
	w := &world{TB: t, folder: t.TempDir(), cache: &policyhost.PoolCache{}, kept: &kept{}, mux: http.NewServeMux()}
	var err error
	o.Folder, o.KeepFor, o.Log = w.folder, 100*365*24*time.Hour, slog.New(slog.DiscardHandler)
	if w.history, err = history.Open(o); err != nil {
		t.Fatal(err)
	}
	w.kept.of = w.history
	w.history.BeginAt(0, &core.Changes{})
	w.model = query.NewModel(query.Bounds{JobsKept: 1, AttemptsKept: 1000}, core.Changes{})
	t.Cleanup(func() {
		w.model.Close()
		if err := w.history.Close(); err != nil {
			t.Error(err)
		}
	})
	jobs := query.NewReader(w.model, w.history)
	w.service = &service{model: w.model, jobs: jobs}
	w.server = New(Needs{Read: jobs, Service: w.service, Policy: overview{}, Pools: w.cache, History: w.kept, Life: 7, Failed: func(context.Context, error) {}, Stopping: make(chan struct{})})
	for pattern, handler := range w.server.Routes() {
		w.mux.Handle(pattern, handler)
	}
	return w
}

// tell sends a step's changes to history, and then to the model.
func (w *world) tell(f core.Changes) {
	w.records++
	f.Decides = 3
	w.history.TakeChanges(w.records, &f)
	w.model.Enqueue(f)
}

// job adds the row of a live job with one stage of so many nodes.
func (w *world) job(id scheduler.JobID, user string, nodes int) {
	w.jobThatWaits(id, user, nodes, scheduler.Waiting{})
}

// jobThatWaits adds a waiting job, with the policy's reason.
func (w *world) jobThatWaits(id scheduler.JobID, user string, nodes int, said scheduler.Waiting) {
	g := &wire.Graph{
		Stages:      []*wire.Stage{{Name: "map", Nodes: uint32(nodes)}, {Name: "reduce", Nodes: 1}},
		Connections: []*wire.Connection{{FromStage: 0, ToStage: 1, Pattern: wire.Pattern_PATTERN_MERGE, Kind: wire.ChannelKind_CHANNEL_KIND_FILE}},
	}
	w.tell(core.Changes{ChangeSet: changes.ChangeSet{
		Jobs: []changes.Job{{
			ID: id, Spec: &wire.JobSpec{Name: fmt.Sprintf("name of %v", id), Principal: &wire.Principal{Name: user}}, Plan: &graph.Expanded{Graph: g},
			StageNames: []string{"map", "reduce"}, State: wire.JobState_JOB_STATE_RUNNING, Pool: "default", Submitted: base, Groups: nodes + 1,
			Waits: changes.Waits{Ready: nodes, Longest: `stage "map" node 0`, Width: 1, Needs: []scheduler.SlotCount{{Kind: "default", Count: 1}}, Policy: said},
		}},
		Stages: []changes.Stage{{Job: id, Number: 0, Nodes: uint32(nodes), Ready: uint32(nodes)}, {Job: id, Number: 1, Nodes: 1, Waiting: 1}},
	}})
}

// end ends a job.
func (w *world) end(id scheduler.JobID, user string) {
	w.tell(core.Changes{ChangeSet: changes.ChangeSet{Ended: []*wire.JobStatus{{
		Summary: &wire.JobSummary{Job: uint64(id), Name: fmt.Sprintf("name of %v", id), User: user, Pool: "default", State: wire.JobState_JOB_STATE_FAILED, Submitted: int64(base), Ended: int64(base.Add(time.Minute))},
		Failure: &wire.Failure{Message: "wrong"}, Stages: []*wire.StageStatus{{Name: "map", Nodes: 1, Finished: 1}, {Name: "reduce", Nodes: 1}},
	}}}})
}

const base = scheduler.Time(1_700_000_000_000_000_000)

// reply is an HTTP response.
type reply struct {
	StatusCode int
	Header     http.Header
	Text       string
}

// ask sends a request, and validates request and reply against the OpenAPI document.
func (w *world) ask(method, path, body string, into any) reply {
	w.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return w.do(r, into)
}

func (w *world) do(r *http.Request, into any) reply {
	w.Helper()
	answer := httptest.NewRecorder()
	_, pattern := w.mux.Handler(r)
	w.mux.ServeHTTP(answer, r)
	text := answer.Body.Bytes()
	if pattern == "" {
		w.Fatalf("%s %s is no route", r.Method, r.URL)
	}
	method, path, _ := strings.Cut(pattern, " ")
	item := byLibrary().Paths.Find(strings.TrimPrefix(path, Root))
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, Route: &routers.Route{Spec: byLibrary(), PathItem: item, Method: method, Operation: item.GetOperation(method)}},
		Status:                 answer.Code, Header: answer.Header(), Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	input.SetBodyBytes(text)
	if !strings.HasSuffix(path, "/openapi.yaml") {
		if err := openapi3filter.ValidateResponse(context.Background(), input); err != nil {
			w.Errorf("%s %s: the answer %s is not as the document says: %v", r.Method, r.URL, text, err)
		}
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			w.Fatalf("%s %s: %d %s: %v", r.Method, r.URL, answer.Code, text, err)
		}
	}
	return reply{answer.Code, answer.Header(), string(text)}
}

// attempts adds rows of a job's attempts, drawn at random, and returns them.
func (w *world) attempts(job scheduler.JobID, from, n int, seed uint64) []changes.Attempt {
	random := rand.New(rand.NewPCG(seed, 1))
	rows := make([]changes.Attempt, n)
	for i := range rows {
		start := base.Add(time.Duration(random.IntN(1000)) * time.Millisecond)
		rows[i] = changes.Attempt{
			ID: scheduler.AttemptID(from + i), Job: job, On: fmt.Sprintf("l%d", random.IntN(5)), Launcher: scheduler.LauncherID(random.IntN(5) + 1), Stage: int32(random.IntN(2)), Index: int32(i),
			State: changes.Ended, Outcome: scheduler.AttemptOutcome(1 + random.IntN(int(scheduler.Killed))), Ready: base, Launched: start, Started: start,
			Since: start.Add(time.Duration(1+random.IntN(5000)) * time.Millisecond),
		}
		if rows[i].Launcher--; rows[i].Launcher == 0 {
			rows[i].Launcher = 9
		}
		if random.IntN(4) == 0 {
			rows[i].State, rows[i].Outcome, rows[i].Since = changes.Running, 0, 0
		}
	}
	w.tell(core.Changes{ChangeSet: changes.ChangeSet{Attempts: rows}})
	return rows
}

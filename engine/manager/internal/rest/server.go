// Package rest is the manager's HTTP interface for programs and pages, below /api/v1: the cluster's
// data, and changes by people. Its document is openapi.yaml, from which package api is generated
// (make gen). Each request is checked against it before anything is done.
//
//	for pattern, handler := range rest.New(needs).Routes() {
//		mux.Handle(pattern, guard(pattern, handler))
//	}
//
// # Invariants
//
// Nothing here reads the core: live jobs come from the read model, ended jobs from history. Filters
// come before limits. A cursor is a place in a list's order, so entries that come and go are
// neither hidden nor shown twice. The gRPC service checks the caller's permissions, for this
// package too.
package rest

import (
	"context"
	_ "embed" // the document
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/timeseries"
	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest/request"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest/respcache"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Root is the path above all routes.
const Root = "/api/v1"

//go:embed openapi.yaml
var document []byte

// Document is the interface's description, of OpenAPI 3.
func Document() []byte { return document }

// Policy is how the policy is (policyhost.Supervisor).
type Policy interface {
	Overview() *wire.PolicyReply
}

// Pools is the policy's last status of its pools (policyhost.PoolCache).
type Pools interface {
	View() *policyhost.PoolView
	Changed() <-chan struct{}
}

// HistoryReader is what history has besides jobs (history.History).
type HistoryReader interface {
	Waits(ctx context.Context, id scheduler.JobID) (history.Waits, error)
	Series(tier int, from, until int64, points int) (rows []timeseries.Row, every time.Duration, err error)
}

// Service is the gRPC service's part for this package (api.Server). It refuses callers without the
// rights.
type Service interface {
	// FindJob finds a job that the caller may look at. The caller of FindJob closes it.
	FindJob(ctx context.Context, id scheduler.JobID) (*query.Job, error)
	// Explained describes such a job, once.
	Explained(ctx context.Context, j *query.Job) (*wire.JobStatus, error)
	Launchers(ctx context.Context, q *wire.LaunchersRequest) (*wire.LaunchersReply, error)
	Kill(ctx context.Context, q *wire.JobRef) (*wire.Empty, error)
	Retry(ctx context.Context, q *wire.RetryRequest) (*wire.Empty, error)
	Update(ctx context.Context, q *wire.UpdateRequest) (*wire.Empty, error)
	Drain(ctx context.Context, q *wire.DrainRequest) (*wire.Empty, error)
	Schedules(ctx context.Context, q *wire.SchedulesRequest) (*wire.SchedulesReply, error)
	AddSchedule(ctx context.Context, q *wire.AddScheduleRequest) (*wire.Empty, error)
	ChangeSchedule(ctx context.Context, q *wire.ChangeScheduleRequest) (*wire.Empty, error)
	// Log opens an attempt's log; the caller closes its Text.
	Log(ctx context.Context, q query.LogQuery) (*query.Log, error)
	// MayHear returns why the caller may not follow changes, of one job unless it is 0; nil: it
	// may, now.
	MayHear(ctx context.Context, job scheduler.JobID) error
	// MayLook returns a function that reports whether the caller may look at a job.
	MayLook(ctx context.Context) func(*wire.JobSummary) bool
	// MayLookAtUser returns a function that reports whether the caller may learn what a user has.
	MayLookAtUser(ctx context.Context) func(user string) bool
	// Rights is a number that differs between callers with other rights, and changes with the
	// rules.
	Rights(ctx context.Context) uint64
}

// Needs are the dependencies of the server.
type Needs struct {
	Read     *query.Reader
	Service  Service
	Policy   Policy
	Pools    Pools
	History  HistoryReader
	Settings Settings
	Audit    Audit
	// Suspects are the names of launchers without recent heartbeats; nil: unknown.
	Suspects func() []string
	// Idle returns for how long an attempt on a launcher has made no progress, and what its nodes
	// wait for. IdleRevision changes when other attempts of a job are idle, or for longer. Nil:
	// unknown.
	Idle         func(launcher string, attempt uint64) (span time.Duration, blocked string)
	IdleRevision func(ctx context.Context, job scheduler.JobID) (uint64, error)
	// Failed is called for each failed request, before its answer leaves; it has the request's
	// context.
	Failed func(ctx context.Context, err error)
	// Life is a number unique to this life of the manager: revisions belong to one life.
	Life uint64
	// UserStreams bounds the streams of events, and the followed logs, of one user; 0:
	// UserStreamsDefault.
	UserStreams int
	// Stopping is closed when streams and long waits have to end.
	Stopping <-chan struct{}
}

// Server answers. Safe for concurrent use.
type Server struct {
	needs   Needs
	streams atomic.Int64 // open streams of events
	open    atomic.Int64 // streams of events, and followed logs
	byUser  userStreams  // the same by user
	drawn   respcache.Answers[drawnOf, drawn]
}

// New returns a server.
func New(of Needs) *Server { return &Server{needs: of} }

// parsed is the document. It is part of the program, so it is right. It is parsed for the first
// request: a manager starts without.
var parsed = sync.OnceValue(func() *request.Document {
	doc, err := request.ParseDocument(document)
	if err != nil {
		panic("rest: openapi.yaml: " + err.Error())
	}
	return doc
})

// Routes are its handlers, by their patterns.
func (s *Server) Routes() map[string]http.Handler {
	routes := routes{}
	failed := func(w http.ResponseWriter, r *http.Request, err error) {
		s.needs.Failed(r.Context(), err)
		Problem(w, r, err)
	}
	strict := restapi.NewStrictHandlerWithOptions(s, []restapi.StrictMiddlewareFunc{s.conditional, patient}, restapi.StrictHTTPServerOptions{RequestErrorHandlerFunc: s.invalid, ResponseErrorHandlerFunc: failed})
	restapi.HandlerWithOptions(strict, restapi.StdHTTPServerOptions{BaseURL: Root, BaseRouter: routes, ErrorHandlerFunc: s.invalid})
	for pattern, handler := range routes {
		routes[pattern] = s.checked(pattern, handler)
	}
	return routes
}

// bodyMax bounds the body of a request, bytes: the largest is a reason. TextBodyMax is the bound
// for a text of the configuration, in JSON.
const (
	bodyMax     = 64 << 10
	TextBodyMax = 8 << 20
)

// withText are the operations with such a text.
var withText = []string{"applySettings", "checkSettings", "diffSettings"}

// checked validates a request against the OpenAPI document before its handler runs.
func (s *Server) checked(pattern string, handler http.Handler) http.Handler {
	method, path, _ := strings.Cut(pattern, " ")
	path = strings.TrimPrefix(path, Root)
	check := sync.OnceValue(func() *request.Check {
		most := int64(bodyMax)
		if slices.Contains(withText, parsed().OperationID(method, path)) {
			most = TextBodyMax
		}
		return request.New(parsed(), method, path, most)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "private, no-cache")
		if err := check().Of(w, r); err != nil {
			s.invalid(w, r, err)
			return
		}
		if r.Method == http.MethodHead && slices.Contains(endless, parsed().OperationID(method, path)) {
			w = headOnly{w}
			r.Header.Del("Range") // ranges are for GET alone (RFC 9110, section 14.2)
		}
		handler.ServeHTTP(w, r)
	})
}

// endless are the operations with long answers: a HEAD request of one ends at once.
var endless = []string{"streamEvents", "getAttemptLog", "exportJob"}

// headOnly sends an answer's head without its body.
type headOnly struct{ http.ResponseWriter }

// Unwrap is for http.ResponseController.
func (h headOnly) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// Write refuses the body.
func (h headOnly) Write([]byte) (int, error) { return 0, http.ErrBodyNotAllowed }

// FlushError refuses to flush: the answer is over.
func (h headOnly) FlushError() error { return http.ErrBodyNotAllowed }

// routes collects the handlers that the generated code registers.
type routes map[string]http.Handler

// HandleFunc is for restapi.ServeMux.
func (r routes) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	r[pattern] = http.HandlerFunc(handler)
}

// ServeHTTP is for restapi.ServeMux, which never calls it.
func (r routes) ServeHTTP(w http.ResponseWriter, q *http.Request) { http.NotFound(w, q) }

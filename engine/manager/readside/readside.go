// Package readside is a manager's view for readers, without the manager: history, the read model,
// the REST interface and the pages. A program that steps a core feeds it. Benchmarks use it to
// measure the cost of readers for the scheduler.
//
//	s, err := readside.Serve(readside.Needs{Core: c, Policy: host, Folder: folder, Durable: log.Await})
//	defer s.Close()
//	s.Take(record, facts) // after each step
//
// Callers are not authenticated, and nothing can be changed over it.
package readside

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/internal/pages"
	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// headerTimeout bounds the wait for the head of a request.
	headerTimeout = time.Second
	// stepsMax is how many steps' facts wait to be taken in before Take waits.
	stepsMax = 1024
)

// Needs are the dependencies of a Server. All are needed.
type Needs struct {
	Core   *core.Core  // it has not stepped yet
	Policy policy.Host // explains why jobs wait
	Folder string      // history gets a folder of its own below it
	// Durable waits until a record of the event log is on the disk. An error says that it never
	// will be.
	Durable func(record uint64) error
}

// Server shows a core's decisions. Take is called by the one goroutine that steps the core.
type Server struct {
	policy  policy.Host
	history *history.History
	model   *query.Model
	jobs    *query.Reader

	durable func(record uint64) error
	steps   chan step
	taken   sync.WaitGroup

	site     *http.Server
	address  string
	stopping chan struct{}
}

// step is a record of the event log, and what changed in its step.
type step struct {
	record uint64
	facts  core.Changes
}

// Serve has the core collect its facts, and serves pages at a free port of this machine.
func Serve(n Needs) (*Server, error) {
	s := &Server{policy: n.Policy, durable: n.Durable, steps: make(chan step, stepsMax), stopping: make(chan struct{})}
	var err error
	if s.history, err = history.Open(history.Options{Folder: filepath.Join(n.Folder, "history"), Log: slog.New(slog.NewTextHandler(io.Discard, nil))}); err != nil {
		return nil, err
	}
	n.Core.EnableChanges()
	all, set := n.Core.AllChanges(), core.DefaultSettings()
	s.history.BeginAt(0, &all)
	s.model = query.NewModel(query.Bounds{JobsKept: set.JobsKept, AttemptsKept: set.AttemptsKept}, all)
	s.jobs = query.NewReader(s.model, s.history)
	s.taken.Go(s.forward)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Close()
		return nil, err
	}
	s.address, s.site = listener.Addr().String(), &http.Server{Handler: s.handler(), ReadHeaderTimeout: headerTimeout}
	go func() { _ = s.site.Serve(listener) }()
	return s, nil
}

// Address is where the pages are served: host and port.
func (s *Server) Address() string { return s.address }

// handler serves the manager's pages, without its checks of callers.
func (s *Server) handler() http.Handler {
	failed := func(context.Context, error) {}
	shown := rest.New(rest.Needs{
		Read: s.jobs, Service: service{Server: s}, Policy: s, Pools: &policyhost.PoolCache{}, History: s.history, Failed: failed, Stopping: s.stopping,
	})
	all, mux := shown.Routes(), http.NewServeMux()
	maps.Copy(all, pages.New(pages.Needs{Shown: shown, Actions: true, Generation: func(g uint64) (uint64, uint64) { return 0, g }, Failed: failed}).Routes())
	for pattern, handler := range all {
		mux.Handle(pattern, handler)
	}
	return rest.Routed(mux, func(w http.ResponseWriter, _ *http.Request, code int, why string) { rest.WriteProblem(w, code, why) })
}

// TakeChanges queues a step's changes. If the queue is long it blocks, as a manager does.
func (s *Server) TakeChanges(record uint64, f core.Changes) { s.steps <- step{record, f} }

// forward gives changes to history and to the model once they are durable, until Close.
func (s *Server) forward() {
	for t := range s.steps {
		if s.durable(t.record) != nil {
			continue // the log is closed, or broken: the stepping program reports it
		}
		s.history.TakeChanges(t.record, &t.facts)
		s.model.Enqueue(t.facts)
	}
}

// Close ends it. Take is not called any more.
func (s *Server) Close() {
	close(s.stopping)
	close(s.steps)
	s.taken.Wait()
	if s.site != nil {
		_ = s.site.Close()
	}
	s.model.Close()
	_ = s.history.Close()
}

// Overview reports a healthy policy.
func (s *Server) Overview() *wire.PolicyReply { return &wire.PolicyReply{Generation: 1} }

// service allows all callers to read everything. There are no changes and no logs.
type service struct {
	rest.Service
	*Server
}

func (v service) FindJob(ctx context.Context, id scheduler.JobID) (*query.Job, error) {
	return v.jobs.Find(ctx, id)
}

// Explained asks the policy, as a manager does.
func (v service) Explained(ctx context.Context, j *query.Job) (*wire.JobStatus, error) {
	e, err := v.policy.Explain(ctx, j.ID)
	if err == nil && e.Detail != "" {
		j.Status.Waiting = append(j.Status.Waiting, fmt.Sprintf("policy: %s", e.Detail))
	}
	return j.Status, nil
}

func (v service) Launchers(ctx context.Context, _ *wire.LaunchersRequest) (*wire.LaunchersReply, error) {
	list, err := v.model.Launchers(ctx)
	return &wire.LaunchersReply{Launchers: list}, err
}

func (v service) MayLook(context.Context) func(*wire.JobSummary) bool {
	return func(*wire.JobSummary) bool { return true }
}

func (v service) MayLookAtUser(context.Context) func(string) bool {
	return func(string) bool { return true }
}

func (v service) MayHear(context.Context, scheduler.JobID) error { return nil }

// Rights are the same for all.
func (v service) Rights(context.Context) uint64 { return 0 }

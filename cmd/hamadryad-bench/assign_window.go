package main

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

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/internal/jobquery"
	"github.com/hamadryad/hamadryad/engine/manager/internal/pages"
	"github.com/hamadryad/hamadryad/engine/manager/internal/readmodel"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost/pools"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// window is what a manager shows of itself: history and the model take in what is durable, and pages
// of both are served.
type window struct {
	policy  policy.Host
	history *history.History
	model   *readmodel.Model
	jobs    *jobquery.Jobs

	durable func(record uint64) error
	told    chan told
	taken   sync.WaitGroup

	site     *http.Server
	address  string
	stopping chan struct{}
}

// told are the facts of a step, and its record.
type told struct {
	record uint64
	facts  core.Facts
}

// newWindow has a core tell its facts, which go to history in a folder, and serves the pages.
func newWindow(a *assigner, host policy.Host, folder string) (*window, error) {
	w := &window{policy: host, durable: a.awaitDurable, told: make(chan told, 1024), stopping: make(chan struct{})}
	var err error
	if w.history, err = history.Open(history.Options{Folder: filepath.Join(folder, "history"), Log: slog.New(slog.NewTextHandler(io.Discard, nil))}); err != nil {
		return nil, err
	}
	a.core.TellFacts()
	all, set := a.core.AllFacts(), core.DefaultSettings()
	w.history.Begin(0, &all)
	w.model = readmodel.New(readmodel.Bounds{JobsKept: set.JobsKept, AttemptsKept: set.AttemptsKept}, all)
	w.jobs = jobquery.New(w.model, w.history)
	w.taken.Go(w.carry)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.close()
		return nil, err
	}
	w.address, w.site = listener.Addr().String(), &http.Server{Handler: w.pages(), ReadHeaderTimeout: viewersPause}
	go func() { _ = w.site.Serve(listener) }()
	return w, nil
}

// pages are those of a manager, without the guard at its door.
func (w *window) pages() http.Handler {
	failed := func(context.Context, error) {}
	shown := rest.New(rest.Needs{
		Model: w.model, Jobs: w.jobs, Service: lookers{window: w}, Policy: w, Pools: &pools.Book{}, Kept: w.history, Failed: failed, Stopping: w.stopping,
	})
	all, mux := shown.Routes(), http.NewServeMux()
	maps.Copy(all, pages.New(pages.Needs{Shown: shown, Actions: true, Generation: func(g uint64) (uint64, uint64) { return 0, g }, Failed: failed}).Routes())
	for pattern, handler := range all {
		mux.Handle(pattern, handler)
	}
	return rest.Routed(mux, func(w http.ResponseWriter, _ *http.Request, code int, why string) { rest.Tell(w, code, why) })
}

// take takes in what a step told. A window that is far behind holds the cluster up, as a manager's does.
func (w *window) take(record uint64, f core.Facts) { w.told <- told{record, f} }

// carry brings facts to history and to the model once they are durable, until there are no more.
func (w *window) carry() {
	for t := range w.told {
		if w.durable(t.record) != nil {
			continue // the log is closed, or broken: whoever steps says so
		}
		w.history.Take(t.record, &t.facts)
		w.model.Hand(t.facts)
	}
}

func (w *window) close() {
	close(w.stopping)
	close(w.told)
	w.taken.Wait()
	if w.site != nil {
		_ = w.site.Close()
	}
	w.model.Close()
	_ = w.history.Close()
}

// Overview says that the policy is well.
func (w *window) Overview() *wire.PolicyReply { return &wire.PolicyReply{Generation: 1} }

// lookers are people who may look at everything.
type lookers struct {
	rest.Service // changes, and logs, which there are none of
	*window
}

func (l lookers) Look(ctx context.Context, id scheduler.JobID) (*jobquery.Job, error) {
	return l.jobs.Find(ctx, id)
}

// Explained asks the policy, as a manager does.
func (l lookers) Explained(ctx context.Context, j *jobquery.Job) (*wire.JobStatus, error) {
	e, err := l.policy.Explain(ctx, j.ID)
	if err == nil && e.Detail != "" {
		j.Status.Waiting = append(j.Status.Waiting, fmt.Sprintf("policy: %s", e.Detail))
	}
	return j.Status, nil
}

func (l lookers) Launchers(ctx context.Context, _ *wire.Empty) (*wire.LaunchersReply, error) {
	list, err := l.model.Launchers(ctx)
	return &wire.LaunchersReply{Launchers: list}, err
}

func (l lookers) MayLook(context.Context) func(*wire.JobSummary) bool {
	return func(*wire.JobSummary) bool { return true }
}

func (l lookers) MayHear(context.Context, scheduler.JobID) error { return nil }

// Rights are the same for all.
func (l lookers) Rights(context.Context) uint64 { return 0 }

package launcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/logs"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/health"
	"github.com/hamadryad/hamadryad/internal/pprofhttp"
)

const (
	// headerMax is how long a client may take to send its request header.
	headerMax = 10 * time.Second
	// pageMax is how long a page may take to be sent.
	pageMax = 30 * time.Second
	// idleClientMax is how long a connection may stay open between two requests.
	idleClientMax = 2 * time.Minute
	// stallMax is how long the reader of a log may accept nothing before it is cut off: a person
	// with a pager may pause.
	stallMax = 10 * time.Minute
	// logReadersMax bounds the concurrent readers of logs.
	logReadersMax = 256
)

// pages are a launcher's web pages. They call the agent, which knows nothing of them.
type pages struct {
	agent   *agent
	readers atomic.Int32 // of logs, at most logReadersMax
}

func newPages(a *agent) *pages { return &pages{agent: a} }

// server serves /metrics, /logs/ATTEMPT, /debug/pprof/ to clients on this machine, and for process
// monitors /livez (or /healthz) and /readyz, which reports whether a manager is connected. With
// ?follow=1 a log is sent as it grows, until the attempt ends. With ?from=POSITION&to=POSITION a
// part of it is sent (sendLog).
func (p *pages) server() *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", p.agent.viewers.withRole(promhttp.HandlerFor(p.agent.metrics.registry, promhttp.HandlerOpts{})))
	mux.HandleFunc("GET /logs/{attempt}", managerOnly("logs are read through the manager: \"hamadryad logs\"", p.serveLog))
	mux.HandleFunc("GET /debug/pprof/", managerOnly("a launcher knows no roles: profiles of one with certificates are taken with the manager's own", pprofhttp.Handler().ServeHTTP))
	mux.Handle("GET /{$}", p.agent.viewers.withRole(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "launcher %s of Hamadryad\n\n/metrics\n/logs/ATTEMPT\n/livez\n/readyz\n/debug/pprof/\n", p.agent.cfg.Name)
	})))
	lives := health.Check{Name: "agent", Wrong: p.agent.probe.wrong}
	mux.Handle("GET /livez", health.Page("livez", lives))
	mux.Handle("GET /healthz", health.Page("healthz", lives))
	mux.Handle("GET /readyz", health.Page("readyz", lives, health.Check{Name: "manager", Wrong: p.heard}))
	return &http.Server{Handler: mux, ReadHeaderTimeout: headerMax, WriteTimeout: pageMax, IdleTimeout: idleClientMax, ErrorLog: slog.NewLogLogger(p.agent.log.Handler(), slog.LevelDebug)}
}

// managerOnly refuses authenticated callers other than the manager, because only the manager checks
// permissions. The refusal says what to do instead.
func managerOnly(instead string, page http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if caller, ok := auth.From(r.Context()); ok && caller.Proved() && caller.Kind != auth.Manager {
			http.Error(w, instead, http.StatusForbidden)
			return
		}
		page(w, r)
	}
}

// heard returns an error while no manager is connected.
func (p *pages) heard(context.Context) error {
	if !p.agent.reports.Connected() {
		return errors.New("not connected to the manager " + p.agent.cfg.Manager)
	}
	return nil
}

func (p *pages) serveLog(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.PathValue("attempt"), 10, 64)
	if err != nil {
		http.Error(w, "an attempt is a number, such as /logs/12", http.StatusBadRequest)
		return
	}
	var reader *logs.Reader
	log, ok := p.agent.logOf(id)
	if ok {
		// From here on the log can be read to its end, even if it is removed to make room.
		var gone error
		if reader, gone = log.Reader(); gone == nil {
			defer reader.Close()
		}
		ok = gone == nil
	}
	if !ok {
		http.Error(w, fmt.Sprintf("attempt-%d did not run here, or wrote nothing, or its log made room for newer ones", id), http.StatusNotFound)
		return
	}
	defer p.readers.Add(-1)
	if p.readers.Add(1) > logReadersMax {
		http.Error(w, fmt.Sprintf("%d others read logs here, which is the limit: try again later", logReadersMax), http.StatusServiceUnavailable)
		return
	}
	if err := sendLog(w, r, reader); err != nil {
		panic(http.ErrAbortHandler) // a client must not mistake a part for the whole
	}
}

// sendLog sends a log with notes about dropped output. If the query has from, it sends a part
// without notes, and describes it in headers.
func sendLog(w http.ResponseWriter, r *http.Request, reader *logs.Reader) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	out := &patientWriter{w: w, to: http.NewResponseController(w), stall: stallMax}
	q := r.URL.Query()
	follow := q.Get("follow") != ""
	if !q.Has("from") {
		if _, err := out.Write(nil); err != nil { // the header is sent at once, though the first line may come much later
			return err
		}
		return reader.CopyTo(r.Context(), out, follow)
	}
	from, err := strconv.ParseInt(q.Get("from"), 10, 64)
	if err != nil {
		return err
	}
	x, err := reader.From(r.Context(), from)
	if err != nil {
		return err
	}
	to := x.Until
	if follow = follow && x.Until == x.Length; follow {
		to = math.MaxInt64
	}
	if end, err := strconv.ParseInt(q.Get("to"), 10, 64); err == nil {
		to = min(to, end)
	}
	for name, value := range map[string]any{wire.LogFrom: x.From, wire.LogUntil: x.Until, wire.LogLength: x.Length, wire.LogOver: x.Over} {
		w.Header().Set(name, fmt.Sprint(value))
	}
	if _, err := out.Write(nil); err != nil {
		return err
	}
	return reader.CopyPart(r.Context(), out, to, follow)
}

// patientWriter gives each write a deadline of its own, and flushes at once.
type patientWriter struct {
	w     http.ResponseWriter
	to    *http.ResponseController
	stall time.Duration
}

func (p *patientWriter) Write(b []byte) (int, error) {
	if err := p.to.SetWriteDeadline(time.Now().Add(p.stall)); err != nil {
		return 0, err
	}
	n, err := p.w.Write(b)
	return n, errors.Join(err, p.to.Flush())
}

package launcher

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// headerMax is how long a client may take to say what it wants.
	headerMax = 10 * time.Second
	// pageMax is how long a page may take to be sent.
	pageMax = 30 * time.Second
	// idleClientMax is how long a connection may stay open between two requests.
	idleClientMax = 2 * time.Minute
	// stallMax is how long the reader of a log may take nothing before it is cut off:
	// a person who reads in a pager is one.
	stallMax = 10 * time.Minute
	// logReadersMax bounds how many read logs at the same time.
	logReadersMax = 256
)

// httpServer serves /metrics, /logs/ATTEMPT, and for what watches processes /livez (or
// /healthz) and /readyz, which says whether a manager gives it work. With ?follow=1 a log is sent on
// as it grows, until the attempt ends.
func (a *agent) httpServer() *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.metrics.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /logs/{attempt}", a.serveLog)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "hamadryad launcher %s\n\n/metrics\n/logs/ATTEMPT\n/livez\n/readyz\n", a.cfg.Name)
	})
	lives := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }
	mux.HandleFunc("GET /livez", lives)
	mux.HandleFunc("GET /healthz", lives)
	mux.HandleFunc("GET /readyz", a.serveReady)
	return &http.Server{Handler: mux, ReadHeaderTimeout: headerMax, WriteTimeout: pageMax, IdleTimeout: idleClientMax}
}

// serveReady answers 200 while a manager is heard.
func (a *agent) serveReady(w http.ResponseWriter, _ *http.Request) {
	a.mu.Lock()
	connected := a.connected
	a.mu.Unlock()
	if !connected {
		http.Error(w, "not connected to the manager "+a.cfg.Manager, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

func (a *agent) serveLog(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.PathValue("attempt"), 10, 64)
	if err != nil {
		http.Error(w, "an attempt is a number, such as /logs/12", http.StatusBadRequest)
		return
	}
	var reader *logReader
	log, ok := a.findLog(id)
	if ok {
		// From here on it can be read to its end, though it makes room meanwhile.
		var gone error
		if reader, gone = log.reader(); gone == nil {
			defer reader.close()
		}
		ok = gone == nil
	}
	if !ok {
		http.Error(w, fmt.Sprintf("attempt %d did not run here, or wrote nothing, or its log made room for newer ones", id), http.StatusNotFound)
		return
	}
	defer a.logReaders.Add(-1)
	if a.logReaders.Add(1) > logReadersMax {
		http.Error(w, fmt.Sprintf("%d others read logs here, which is the limit: try again later", logReadersMax), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	out := &patientWriter{w: w, to: http.NewResponseController(w), stall: stallMax}
	_, err = out.Write(nil) // the header goes out though there may be no line for long
	if err == nil {
		err = reader.copyTo(r.Context(), out, r.URL.Query().Get("follow") != "")
	}
	if err != nil {
		panic(http.ErrAbortHandler) // a reader must not take what it got for the whole
	}
}

// patientWriter gives each write its own time, and sends at once.
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

// findLog returns the log of an attempt that runs here or wrote something.
func (a *agent) findLog(id uint64) (*attemptLog, bool) {
	a.mu.Lock()
	at := a.attempts[id]
	a.mu.Unlock()
	if at != nil {
		return at.log, true
	}
	return a.logs.find(id)
}

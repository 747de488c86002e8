package launcher

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// headerMax is how long a client may take to say what it wants.
const headerMax = 10 * time.Second

// httpServer serves /metrics and /logs/ATTEMPT. With ?follow=1 a log is sent on
// as it grows, until the attempt ends.
func (a *agent) httpServer() *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.metrics.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /logs/{attempt}", a.serveLog)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "hamadryad launcher %s\n\n/metrics\n/logs/ATTEMPT\n", a.cfg.Name)
	})
	return &http.Server{Handler: mux, ReadHeaderTimeout: headerMax}
}

func (a *agent) serveLog(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.PathValue("attempt"), 10, 64)
	if err != nil {
		http.Error(w, "an attempt is a number, such as /logs/12", http.StatusBadRequest)
		return
	}
	log, ok := a.findLog(id)
	if !ok {
		http.Error(w, fmt.Sprintf("attempt %d did not run here, or wrote nothing, or its log made room for newer ones", id), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	follow := r.URL.Query().Get("follow") != ""
	for from := int64(0); ; {
		written, done, changed, err := log.copyTo(w, from)
		if err != nil || done || !follow {
			return
		}
		from = written
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
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

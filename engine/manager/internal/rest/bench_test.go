package rest

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/index"
	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest/request"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// each times each request of a benchmark, and reports the median, the slowest but 5 %, and the bytes.
func each(b *testing.B, handler http.Handler, path string) {
	b.Helper()
	var took []time.Duration
	bytes := 0
	for b.Loop() {
		answer := httptest.NewRecorder()
		began := time.Now()
		handler.ServeHTTP(answer, httptest.NewRequest("GET", Root+path, nil))
		took = append(took, time.Since(began))
		if answer.Code != http.StatusOK {
			b.Fatal(answer.Body)
		}
		bytes = answer.Body.Len()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
	b.ReportMetric(float64(bytes), "B/answer")
}

// BenchmarkLargeJob asks for the parts of a page about a job of 100,000 attempts.
func BenchmarkLargeJob(b *testing.B) {
	w := newWorld(b)
	w.job(1, "ann", 100_000)
	w.attempts(1, 1, 100_000, 9)
	w.pastJob(2, "ann", 100_000)
	for _, job := range []string{"lives", "ended"} {
		for _, part := range []string{"", "/attempts", "/timeline", "/distribution?stage=map"} {
			b.Run(job+part, func(b *testing.B) {
				each(b, w.mux, map[string]string{"lives": "/jobs/job-1", "ended": "/jobs/job-2"}[job]+part)
			})
		}
	}
}

// BenchmarkJobs lists jobs where 10,000 live and 100,000 ended, after it opened history.
func BenchmarkJobs(b *testing.B) {
	const live, ended = 10_000, 100_000
	w := newWorld(b)
	w.folder = b.TempDir()
	if err := fill(w.folder, ended); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	h, err := history.Open(history.Options{Folder: w.folder, KeepFor: 100 * 365 * 24 * time.Hour, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	w.server.needs.Read = query.NewReader(w.model, h)
	answer := httptest.NewRecorder()
	w.mux.ServeHTTP(answer, httptest.NewRequest("GET", Root+"/jobs", nil))
	b.Logf("from opening history to the first list: %v", time.Since(began))
	var rows []changes.Job
	for i := range live {
		rows = append(rows, changes.Job{
			ID: scheduler.JobID(ended + 1 + i), Spec: &wire.JobSpec{Name: fmt.Sprint("job of today ", i), Principal: &wire.Principal{Name: fmt.Sprint("user", i%50)}},
			State: wire.JobState_JOB_STATE_RUNNING, Pool: fmt.Sprint("pool", i%20), Submitted: base,
		})
	}
	w.model.Enqueue(core.Changes{ChangeSet: changes.ChangeSet{Jobs: rows}})
	for _, query := range []string{"", "?state=running", "?state=failed", "?user=user7", "?pool=pool9&user=user9", "?name=job+99999", "?user=nobody", "?limit=1000", fmt.Sprintf("?cursor=%s", *request.Cursor(request.Jobs, request.Number(scheduler.JobID(500))))} {
		b.Run("jobs"+query, func(b *testing.B) { each(b, w.mux, "/jobs"+query) })
	}
	b.Run("cluster", func(b *testing.B) { each(b, w.mux, "/cluster") })
}

// fill makes the index of a history with so many jobs, whose files are empty.
func fill(folder string, jobs int) error {
	if err := os.Mkdir(filepath.Join(folder, "jobs"), 0o700); err != nil {
		return err
	}
	x, err := index.Open(filepath.Join(folder, "index.db"))
	if err != nil {
		return err
	}
	defer x.Close()
	var entries []index.Entry
	for id := 1; id <= jobs; id++ {
		entries = append(entries, index.Entry{Record: uint64(id), Bytes: 1, Summary: &wire.JobSummary{
			Job: uint64(id), Name: fmt.Sprint("a job called ", scheduler.JobID(id)), User: fmt.Sprint("user", id%50), Pool: fmt.Sprint("pool", id%20), State: query.Over[id%3],
			Submitted: int64(base), Ended: int64(base.Add(time.Duration(id) * time.Second)), Groups: 10, GroupsFinished: 10,
		}})
		if err := os.WriteFile(filepath.Join(folder, "jobs", fmt.Sprintf("%d.history", id)), nil, 0o600); err != nil {
			return err
		}
	}
	return x.PutEntries(entries)
}

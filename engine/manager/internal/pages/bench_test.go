package pages

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/internal/query"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// finder permits every user to look.
type finder struct {
	rest.Service
	jobs *query.Reader
}

func (f finder) FindJob(ctx context.Context, id scheduler.JobID) (*query.Job, error) {
	return f.jobs.Find(ctx, id)
}

func (f finder) Explained(_ context.Context, j *query.Job) (*wire.JobStatus, error) {
	return j.Status, nil
}

const (
	benchAttempts  = 100_000
	benchLaunchers = 500
	benchStages    = 20
)

// largeJob returns the changes of a live or ended job of 100,000 attempts in 20 stages, on 500
// launchers.
func largeJob(id scheduler.JobID, over bool) core.Changes {
	r := rand.New(rand.NewPCG(uint64(id), 1))
	now := scheduler.Time(time.Now().UnixNano())
	begun := now - scheduler.Time(3*time.Hour)
	row := changes.Job{
		ID: id, Spec: &wire.JobSpec{Name: "large", Principal: &wire.Principal{Name: "ann"}}, Pool: "etl", State: wire.JobState_JOB_STATE_RUNNING, Submitted: begun,
		Groups: benchAttempts, Finished: benchAttempts / 2, Plan: &graph.Expanded{Graph: &wire.Graph{}},
	}
	f := core.Changes{At: now}
	var stages []*wire.StageStatus
	for i := range benchStages {
		name := fmt.Sprintf("stage %d", i)
		row.StageNames = append(row.StageNames, name)
		row.Plan.Graph.Stages = append(row.Plan.Graph.Stages, &wire.Stage{Name: name, Nodes: benchAttempts / benchStages})
		if i > 0 {
			row.Plan.Graph.Connections = append(row.Plan.Graph.Connections, &wire.Connection{FromStage: uint32(i - 1), ToStage: uint32(i), Pattern: wire.Pattern_PATTERN_ALL_TO_ALL, Kind: wire.ChannelKind_CHANNEL_KIND_FILE})
		}
		f.Stages = append(f.Stages, changes.Stage{Job: id, Number: int32(i), Nodes: benchAttempts / benchStages, Finished: benchAttempts / benchStages})
		stages = append(stages, &wire.StageStatus{Name: name, Nodes: benchAttempts / benchStages, Finished: benchAttempts / benchStages})
	}
	for i := range benchAttempts {
		on, start := 1+r.IntN(benchLaunchers), begun.Add(time.Duration(i)*100*time.Millisecond)
		a := changes.Attempt{
			ID: scheduler.AttemptID(int(id)*benchAttempts + i), Job: id, Bundle: scheduler.BundleID(i + 1), Run: uint64(i), Launcher: scheduler.LauncherID(on), On: fmt.Sprintf("node-%d.cluster", on),
			Stage: int32(i * benchStages / benchAttempts), Index: int32(i), State: changes.Ended, Outcome: scheduler.Finished, Ready: begun, Launched: start, Started: start.Add(time.Second), Executing: start.Add(2 * time.Second),
			Since: start.Add(time.Duration(20+r.IntN(60)) * time.Second),
		}
		if r.IntN(100) == 0 {
			a.Outcome, a.Reason = scheduler.Preempted, "preempted"
		}
		f.Attempts = append(f.Attempts, a)
	}
	f.Jobs = []changes.Job{row}
	if over {
		f.Ended = []*wire.JobStatus{{Summary: &wire.JobSummary{Job: uint64(id), Name: "large", User: "ann", Pool: "etl", State: wire.JobState_JOB_STATE_SUCCEEDED, Submitted: int64(begun), Ended: int64(now)}, Stages: stages}}
	}
	return f
}

// BenchmarkPageOfALargeJob makes the page of a job of 100,000 attempts. That of one that ended is read from
// its file each time.
func BenchmarkPageOfALargeJob(b *testing.B) {
	h, err := history.Open(history.Options{Folder: b.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	h.BeginAt(0, &core.Changes{})
	model := query.NewModel(query.Bounds{JobsKept: 1, AttemptsKept: 100}, core.Changes{})
	defer model.Close()
	for i, over := range []bool{true, false} {
		f := largeJob(scheduler.JobID(i+1), over)
		h.TakeChanges(uint64(i+1), &f)
		model.Enqueue(f)
	}
	if err := h.Sync(b.Context(), 2); err != nil {
		b.Fatal(err)
	}
	jobs := query.NewReader(model, h)
	shown := rest.New(rest.Needs{Read: jobs, History: h, Service: finder{jobs: jobs}, Stopping: make(chan struct{})})
	page := New(Needs{Shown: shown, Actions: true, Failed: func(_ context.Context, err error) { b.Error(err) }}).Routes()["GET /jobs/{job}"]
	for name, job := range map[string]string{"ended": "job-1", "lives": "job-2"} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			var answer *httptest.ResponseRecorder
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, "/jobs/"+job, nil)
				r.SetPathValue("job", job)
				answer = httptest.NewRecorder()
				began := time.Now()
				page.ServeHTTP(answer, r)
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
			b.ReportMetric(float64(answer.Body.Len()), "B/page")
			var packed strings.Builder
			z := gzip.NewWriter(&packed)
			_, _ = io.Copy(z, answer.Body)
			_ = z.Close()
			b.ReportMetric(float64(packed.Len()), "B/gzipped")
		})
	}
}

package history

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/index"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/timeseries"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func options(folder string) Options {
	return Options{Folder: folder, write: replace, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Unix(1_800_000_100, 0) }}
}

// replace is atomicfile.Replace without a sync, which is faster.
func replace(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "new-")
	if err == nil {
		_, err = f.Write(content)
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

func open(t testing.TB, o Options) *History {
	t.Helper()
	h, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func end(t testing.TB, h *History) {
	t.Helper()
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
}

// kept reads the files of all jobs that ended.
func kept(t testing.TB, h *History) map[scheduler.JobID]*jobfile.Job {
	t.Helper()
	all := map[scheduler.JobID]*jobfile.Job{}
	jobs, _, err := h.List(index.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range jobs {
		id := scheduler.JobID(s.Job)
		r, err := h.Open(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if all[id], err = r.Whole(); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	return all
}

// undisturbed returns history's jobs after a story without faults.
func undisturbed(t *testing.T, s *story) map[scheduler.JobID]*jobfile.Job {
	t.Helper()
	h := open(t, options(t.TempDir()))
	h.BeginAt(0, &s.all[0])
	s.tells(h, 1, uint64(len(s.steps)))
	if err := h.Sync(t.Context(), uint64(len(s.steps))); err != nil {
		t.Fatal(err)
	}
	all := kept(t, h)
	end(t, h)
	return all
}

// A job's file has all rows of the job, each attempt once.
func TestWhatWasToldIsKept(t *testing.T) {
	s := tell(1, 300)
	got := undisturbed(t, s)
	want := map[scheduler.JobID][]changes.Attempt{}
	ended := 0
	for _, f := range s.steps {
		for _, a := range f.Attempts {
			if a.State == changes.Ended {
				want[a.Job] = append(want[a.Job], a)
			}
		}
		for _, e := range f.Ended {
			ended++
			id := scheduler.JobID(e.Summary.Job)
			j := got[id]
			if j == nil {
				t.Fatalf("%s ended and has no file", id)
			}
			if d := cmp.Diff(want[id], j.Attempts); len(want[id]) > 0 && d != "" {
				t.Errorf("%s: %s", id, d)
			}
			if d := cmp.Diff(e, j.Status, protocmp.Transform()); d != "" {
				t.Errorf("%s: %s", id, d)
			}
			if j.Graph.GetStages()[0].Name != "map" || len(j.Graph.Stages[0].Inputs) > 0 || j.Course.Attempts != uint64(len(want[id])) {
				t.Errorf("%s: %v %+v", id, j.Graph, j.Course)
			}
		}
	}
	if ended < 20 || len(got) != ended {
		t.Errorf("%d jobs ended, and %d are kept", ended, len(got))
	}
}

var (
	errKilled = errors.New("killed")
	seeds     = flag.Uint64("seeds", 3, "histories that TestKills plays")
)

// telling is a log handler that calls a function on the first error.
type telling struct {
	slog.Handler
	failed func()
}

func (l telling) Enabled(context.Context, slog.Level) bool { return true }

func (l telling) Handle(_ context.Context, r slog.Record) error {
	if r.Level == slog.LevelError {
		l.failed()
	}
	return nil
}

// A manager is killed while it writes, again and again, and starts from its log's checkpoint each time. History then has
// the same jobs as without kills.
func TestKills(t *testing.T) {
	for seed := range *seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := tell(seed, 250)
			last := uint64(len(s.steps))
			r := rand.New(rand.NewPCG(seed, 2))
			folder, first, kills := t.TempDir(), uint64(1), 0
			for reached := uint64(0); reached < last; {
				o := options(folder)
				ctx, cancel := context.WithCancelCause(t.Context())
				o.Log = slog.New(telling{slog.DiscardHandler, func() { cancel(errKilled) }})
				o.write = killed(r.IntN(12), r.IntN(200))
				h := open(t, o)
				h.BeginAt(first-1, &s.all[first-1])
				s.tells(h, first, reached) // what is replayed
				h.Replayed(reached)
				for to := reached; to < last; {
					to = min(last, to+1+uint64(r.IntN(12)))
					s.tells(h, reached+1, to)
					reached = to
					if h.Sync(ctx, to) != nil {
						kills++
						break
					}
					first = to + 1 // the log dropped what was before
				}
				_ = h.Close() // nothing is written that was not
				cancel(nil)
			}
			h := open(t, options(folder))
			h.BeginAt(first-1, &s.all[first-1])
			s.tells(h, first, last)
			if err := h.Sync(t.Context(), last); err != nil {
				t.Fatal(err)
			}
			h.reconcile() // which goes on beside, too
			got := kept(t, h)
			end(t, h)
			if d := cmp.Diff(undisturbed(t, s), got, protocmp.Transform()); d != "" {
				t.Error(d)
			}
			if kills < 3 {
				t.Errorf("it was killed %d times", kills)
			}
		})
	}
}

// The files of jobs that end together are written at the same time.
func TestFilesAreWrittenTogether(t *testing.T) {
	o := options(t.TempDir())
	const jobs = 5
	var begun atomic.Int64
	all := make(chan struct{})
	o.write = func(path string, content []byte) error {
		if filepath.Ext(path) != fileSuffix {
			return replace(path, content)
		}
		if begun.Add(1) == jobs {
			close(all)
		}
		select {
		case <-all:
			return replace(path, content)
		case <-time.After(time.Minute):
			return errors.New("the other files are not written meanwhile")
		}
	}
	h := open(t, o)
	h.BeginAt(0, &core.Changes{})
	var f core.Changes
	for id := range uint64(jobs) {
		f.Ended = append(f.Ended, &wire.JobStatus{Summary: &wire.JobSummary{Job: id + 1, Submitted: 5, Ended: 1_800_000_050e9}})
	}
	h.TakeChanges(1, &f)
	if err := h.Sync(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if got := kept(t, h); len(got) != jobs || !h.State().Behind.IsZero() {
		t.Errorf("%d of %d jobs have files: %+v", len(got), jobs, h.State())
	}
	end(t, h)
}

// Jobs that end together are sealed together. This measures how many a second, on the disk of the test's folder.
func BenchmarkEnds(b *testing.B) {
	h := open(b, Options{Folder: b.TempDir(), Log: slog.New(slog.DiscardHandler)})
	h.BeginAt(0, &core.Changes{})
	record := uint64(0)
	for b.Loop() {
		record++
		var f core.Changes
		for i := range uint64(sealsMax) {
			id := record*sealsMax + i
			f.Attempts = append(f.Attempts, changes.Attempt{ID: scheduler.AttemptID(id), Job: scheduler.JobID(id), State: changes.Ended, Outcome: scheduler.Finished})
			f.Ended = append(f.Ended, &wire.JobStatus{Summary: &wire.JobSummary{Job: id, Submitted: 5, Ended: time.Now().UnixNano()}})
		}
		h.TakeChanges(record, &f)
		if err := h.Sync(b.Context(), record); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(record*sealsMax)/b.Elapsed().Seconds(), "jobs/s")
	end(b, h)
}

// killed writes a number of files, and then fails. Of the first file that it does not write it leaves some bytes.
func killed(after, bytes int) func(path string, content []byte) error {
	var n atomic.Int64
	return func(path string, content []byte) error {
		switch at := n.Add(1); {
		case at <= int64(after):
			return replace(path, content)
		case at == int64(after)+1:
			_ = os.WriteFile(filepath.Join(filepath.Dir(path), "new-1"), content[:min(bytes, len(content))], 0o600)
		}
		return errKilled
	}
}

// Records that come twice change nothing.
func TestRecordsComeTwice(t *testing.T) {
	s := tell(5, 120)
	h := open(t, options(t.TempDir()))
	h.BeginAt(0, &s.all[0])
	s.tells(h, 1, 60)
	if err := h.Sync(t.Context(), 60); err != nil {
		t.Fatal(err)
	}
	end(t, h)
	h = open(t, h.o)
	h.BeginAt(0, &s.all[0])
	s.tells(h, 1, 120)
	if err := h.Sync(t.Context(), 120); err != nil {
		t.Fatal(err)
	}
	got := kept(t, h)
	end(t, h)
	if d := cmp.Diff(undisturbed(t, s), got, protocmp.Transform()); d != "" {
		t.Error(d)
	}
}

// A log that lost its end goes on with other records of the same numbers. Jobs that ended in the lost records are live
// again.
func TestTheLogLosesItsEnd(t *testing.T) {
	s := tell(6, 100)
	h := open(t, options(t.TempDir()))
	h.BeginAt(0, &s.all[0])
	s.tells(h, 1, 100)
	if err := h.Sync(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	end(t, h)
	job := s.all[50].Jobs[0]
	other := changes.Attempt{ID: 9999, Job: job.ID, State: changes.Ended, Outcome: scheduler.Finished}
	h = open(t, h.o)
	h.BeginAt(50, &s.all[50])
	h.Replayed(50)
	h.TakeChanges(51, &core.Changes{ChangeSet: changes.ChangeSet{Attempts: []changes.Attempt{other}, Ended: []*wire.JobStatus{{Summary: &wire.JobSummary{Job: uint64(job.ID), Ended: 1_800_000_050e9}}}}})
	if err := h.Sync(t.Context(), 51); err != nil {
		t.Fatal(err)
	}
	got := kept(t, h)[job.ID]
	end(t, h)
	if got == nil || got.Record != 51 || got.Status.Summary.Ended != 1_800_000_050e9 || got.Attempts[len(got.Attempts)-1].ID != 9999 || len(got.Attempts) < 2 {
		t.Errorf("%+v", got)
	}
}

// The event log, or its end, was lost. Jobs that it does not have any more are listed as lost, and their numbers are not
// given again.
func TestJobsThatTheLogLost(t *testing.T) {
	for from, what := range map[uint64]string{0: "all", 50: "its end"} {
		s := tell(6, 100)
		h := open(t, options(t.TempDir()))
		h.BeginAt(0, &s.all[0])
		s.tells(h, 1, 100)
		if err := h.Sync(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		end(t, h)
		h = open(t, h.o)
		goOn := map[scheduler.JobID]bool{}
		if from > 0 { // otherwise there is no log
			h.BeginAt(from, &s.all[from])
			for _, j := range s.all[from].Jobs {
				goOn[j.ID] = true
			}
		}
		h.Replayed(from)
		if err := h.Sync(t.Context(), from); err != nil {
			t.Fatal(err)
		}
		last, err := h.LastJob(t.Context())
		if err != nil || last != s.next-1 {
			t.Errorf("lost is %s: the last job is %v, want %v: %v", what, last, s.next-1, err)
		}
		end(t, h)
		h = open(t, h.o)
		all := kept(t, h)
		lost := 0
		for _, j := range s.all[100].Jobs { // which lived
			got := all[j.ID]
			switch {
			case goOn[j.ID] && got != nil:
				t.Errorf("lost is %s: %v goes on, and has ended", what, j.ID)
			case goOn[j.ID]:
			case got == nil || got.Status.Summary.State != wire.JobState_JOB_STATE_FAILED || len(got.Course.Lacks) == 0 || got.Status.Failure.GetKind() != wire.ErrorKind_ERROR_KIND_LOST:
				t.Errorf("lost is %s: of %v there is %+v", what, j.ID, got)
			default:
				lost++
			}
		}
		if lost == 0 || len(all)+len(goOn) < int(s.next-1) {
			t.Errorf("lost is %s: %d of the jobs that lived are told of, %d jobs in all, of %d", what, lost, len(all), s.next-1)
		}
		end(t, h)
	}
}

// On a full disk the oldest jobs are removed. When none is left, history reports that it is behind, and goes on when there
// is room.
func TestAFullDisk(t *testing.T) {
	s := tell(7, 400)
	o := options(t.TempDir())
	var full atomic.Bool
	o.write = func(path string, content []byte) error {
		if full.Load() {
			return fmt.Errorf("write %s: %w", path, unix.ENOSPC)
		}
		return replace(path, content)
	}
	var minutes atomic.Int64
	o.Now = func() time.Time { return time.Unix(1_800_000_100+60*minutes.Add(1), 0) }
	ctx, cancel := context.WithCancelCause(t.Context())
	o.Log = slog.New(telling{slog.DiscardHandler, func() { cancel(errors.New("it is behind")) }})
	h := open(t, o)
	h.BeginAt(0, &s.all[0])
	s.tells(h, 1, 200)
	if err := h.Sync(t.Context(), 200); err != nil {
		t.Fatal(err)
	}
	before := h.State()
	full.Store(true)
	s.tells(h, 201, 400)
	err := h.Sync(ctx, 400)
	after := h.State()
	if err == nil || before.Jobs < 10 || after.Jobs != 0 || after.Behind.IsZero() {
		t.Errorf("%v: %+v, then %+v", err, before, after)
	}
	full.Store(false)
	if err := h.Sync(t.Context(), 400); err != nil {
		t.Fatal(err)
	}
	if s := h.State(); !s.Behind.IsZero() || s.Jobs < 10 || s.Missed > 0 {
		t.Errorf("%+v", s)
	}
	end(t, h)
}

// History that was behind recovers by itself when it can write again, without a call of Sync.
func TestBehindEndsByItself(t *testing.T) {
	o := options(t.TempDir())
	var broken atomic.Bool
	o.write = func(path string, content []byte) error {
		if broken.Load() {
			return fmt.Errorf("write %s: %w", path, unix.EROFS)
		}
		return replace(path, content)
	}
	var minutes atomic.Int64
	o.Now = func() time.Time { return time.Unix(1_800_000_100+60*minutes.Add(1), 0) }
	h := open(t, o)
	h.BeginAt(0, &core.Changes{})
	broken.Store(true)
	h.TakeChanges(1, &core.Changes{ChangeSet: changes.ChangeSet{Ended: []*wire.JobStatus{{Summary: &wire.JobSummary{Job: 1, Submitted: 5, Ended: 1_800_000_050e9}}}}})
	proctest.Until(t, time.Minute, "history is behind", func() bool { return !h.State().Behind.IsZero() })
	broken.Store(false)
	proctest.Until(t, time.Minute, "history is behind no more", func() bool { return h.State().Behind.IsZero() && h.State().Jobs == 1 })
	end(t, h)
}

// The bounds hold, and the oldest jobs are removed first.
func TestBounds(t *testing.T) {
	s := tell(8, 400)
	ids := []scheduler.JobID{}
	for _, f := range s.steps {
		for _, e := range f.Ended {
			ids = append(ids, scheduler.JobID(e.Summary.Job))
		}
	}
	for what, o := range map[string]Options{"jobs": {JobsMax: 5}, "age": {KeepFor: 1}, "bytes": {BytesMax: 8000}} {
		t.Run(what, func(t *testing.T) {
			o.Folder, o.Log, o.Now = t.TempDir(), slog.New(slog.DiscardHandler), options("").Now
			h := open(t, o)
			h.BeginAt(0, &s.all[0])
			s.tells(h, 1, 400)
			if err := h.Sync(t.Context(), 400); err != nil {
				t.Fatal(err)
			}
			got := kept(t, h)
			state := h.State()
			end(t, h)
			for i, id := range ids {
				if (got[id] != nil) != (i >= len(ids)-len(got)) {
					t.Errorf("%s, the %dth of %d that ended: %v", id, i, len(ids), got[id] != nil)
				}
			}
			if o.JobsMax > 0 && len(got) != 5 || o.KeepFor > 0 && len(got) > 0 && len(got) == len(ids) || o.BytesMax > 0 && (state.Bytes > 8000 || len(got) == 0) {
				t.Errorf("%d of %d jobs, %d bytes", len(got), len(ids), state.Bytes)
			}
		})
	}
}

// A job with more attempts than are kept keeps its failures and the slowest ones, over restarts too. The counts are of all
// attempts.
func TestManyAttempts(t *testing.T) {
	o := options(t.TempDir())
	o.AttemptsMax = 100
	job := changes.Job{ID: 1, Submitted: 1, Spec: &wire.JobSpec{}, Plan: &graph.Expanded{Graph: &wire.Graph{}}}
	h := open(t, o)
	h.BeginAt(0, &core.Changes{})
	h.TakeChanges(1, &core.Changes{ChangeSet: changes.ChangeSet{Jobs: []changes.Job{job}}})
	const records, each = 60, 50
	var slow []time.Duration
	for n := range uint64(records) {
		var f core.Changes
		for i := range uint64(each) {
			id := n*each + i + 1
			a := changes.Attempt{ID: scheduler.AttemptID(id), Job: 1, State: changes.Ended, Outcome: scheduler.Finished}
			a.Work.Running = time.Duration(id*7919%5000) * time.Millisecond
			if id%100 == 0 {
				a.Outcome = scheduler.Failed
			} else if id > 100 {
				slow = append(slow, a.Work.Running)
			}
			f.Attempts = append(f.Attempts, a)
		}
		h.TakeChanges(n+2, &f)
		if n%7 == 0 {
			if err := h.Sync(t.Context(), n+2); err != nil {
				t.Fatal(err)
			}
			end(t, h)
			h = open(t, o)
			h.BeginAt(n+2, &core.Changes{ChangeSet: changes.ChangeSet{Jobs: []changes.Job{job}}})
		}
	}
	h.TakeChanges(records+2, &core.Changes{ChangeSet: changes.ChangeSet{Ended: []*wire.JobStatus{{Summary: &wire.JobSummary{Job: 1, Ended: 1_800_000_050e9}}}}})
	r, err := reader(t, h, records+2, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	whole, err := r.Whole()
	if err != nil {
		t.Fatal(err)
	}
	failed, beyond := 0, map[time.Duration]int{}
	for _, a := range whole.Attempts {
		if a.Outcome == scheduler.Failed {
			failed++
		} else if a.ID > 100 {
			beyond[a.Work.Running]++
		}
	}
	slices.Sort(slow)
	for _, d := range slow[len(slow)-slowestMax:] {
		beyond[d]--
	}
	for d, n := range beyond {
		if n != 0 {
			t.Errorf("of %v there are %d too many", d, n)
		}
	}
	if n, of := r.Kept(); failed != records*each/100 || of != records*each || n != uint64(len(whole.Attempts)) || whole.Course.Stages[0].Outcomes[scheduler.Finished] != records*each*99/100 {
		t.Errorf("%d failed, %d of %d kept, %+v", failed, n, of, whole.Course.Stages)
	}
	end(t, h)
}

// reader opens a job's file when it is there.
func reader(t *testing.T, h *History, record uint64, id scheduler.JobID) (*jobfile.Reader, error) {
	t.Helper()
	if err := h.Sync(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	return h.Open(t.Context(), id)
}

// Adding to a full queue does not block. The rows are dropped, and the jobs' files say how many.
func TestMissed(t *testing.T) {
	var q queue
	q.wake = make(chan struct{}, 1)
	big := make([]changes.Attempt, queueRowsMax)
	for i := range big {
		big[i] = changes.Attempt{ID: scheduler.AttemptID(i + 1), Job: 1, State: changes.Ended}
	}
	q.add(updateOf(1, &core.Changes{ChangeSet: changes.ChangeSet{Attempts: big}}))
	q.add(updateOf(2, &core.Changes{ChangeSet: changes.ChangeSet{Attempts: big[:3], Ended: []*wire.JobStatus{{}}}}))
	got := q.takeAll()
	if len(got) != 2 || len(got[1].attempts) > 0 || len(got[1].ended) != 1 || q.missedRows() != 3 {
		t.Fatalf("%d, %d missed", len(got), q.missedRows())
	}
	q.add(updateOf(3, &core.Changes{}))
	h := open(t, options(t.TempDir()))
	h.BeginAt(0, &core.Changes{})
	h.queue.add(q.takeAll()[0])
	h.TakeChanges(4, &core.Changes{ChangeSet: changes.ChangeSet{Ended: []*wire.JobStatus{{Summary: &wire.JobSummary{Job: 1, Ended: 1_800_000_050e9}}}}})
	r, err := reader(t, h, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if c, err := r.Course(); err != nil || c.Missed != 3 {
		t.Errorf("%+v %v", c, err)
	}
	if err := h.call(t.Context(), func() { h.journal.rows = heldRowsMax }); err != nil { // as when nothing could be written for long
		t.Fatal(err)
	}
	before := h.State().Missed
	h.TakeChanges(5, &core.Changes{ChangeSet: changes.ChangeSet{Attempts: []changes.Attempt{{ID: 1, Job: 2, State: changes.Ended}, {ID: 2, Job: 2, State: changes.Ended}}}})
	if err := h.Sync(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	if n := h.State().Missed - before; n != 2 {
		t.Errorf("of 2 attempts for which there was no room %d are counted", n)
	}
	end(t, h)
}

// A sample has the load of each pool as the sum of its jobs' rows.
func TestSamples(t *testing.T) {
	s := newSampler()
	pool := func(id scheduler.JobID, name string, running, ready int) changes.Job {
		return changes.Job{ID: id, Pool: name, Running: running, Waits: changes.Waits{Ready: ready}}
	}
	up := changes.Launcher{ID: 1, State: "up", Slots: []scheduler.SlotCount{{Kind: "x", Count: 4}}, Free: []scheduler.SlotCount{{Kind: "x", Count: 3}}}
	s.sampleStep(&update{jobs: []changes.Job{pool(1, "a", 2, 1), pool(2, "a", 3, 0), pool(3, "b", 1, 1)}, launchers: []changes.Launcher{up}})
	s.sampleStep(&update{jobs: []changes.Job{pool(1, "b", 7, 0)}, ended: []*wire.JobStatus{{Summary: &wire.JobSummary{Job: 3}}}})
	r := s.row(9, []timeseries.Pool{{Name: "c", Told: 1, Demand: 4}, {Name: "b", Told: 1, Held: 7, Own: 5, Demand: 8, Share: 2500}})
	if got := fmt.Sprint(r); got != "{9 0 4 3 [{a 1 0 3 0 0 0 0 0 0} {b 1 0 7 0 1 7 5 8 2500} {c 0 0 0 0 1 0 0 4 0}]}" {
		t.Error(got)
	}
	up.State = "lost"
	s.sampleStep(&update{ended: []*wire.JobStatus{{Summary: &wire.JobSummary{Job: 1}}, {Summary: &wire.JobSummary{Job: 2}}}, launchers: []changes.Launcher{up}})
	if got := fmt.Sprint(s.row(9, nil)); got != "{9 0 0 0 []}" {
		t.Error(got)
	}
}

// A job that was removed for a bound does not come back when a manager starts, though parts of the journal that other jobs
// need have attempts of it.
func TestJobsThatWentStayAway(t *testing.T) {
	for _, from := range []uint64{100, 80, 0} { // of the log's first record
		s := tell(6, 100)
		o := options(t.TempDir())
		o.JobsMax = 3
		h := open(t, o)
		h.BeginAt(0, &s.all[0])
		for n := uint64(10); n <= 100; n += 10 {
			s.tells(h, n-9, n)
			if err := h.Sync(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
		want := kept(t, h)
		end(t, h)
		h = open(t, o)
		h.BeginAt(from, &s.all[from])
		s.tells(h, from+1, 100)
		h.Replayed(100)
		s.tells(h, 101, 100)
		if err := h.call(t.Context(), func() { h.seal() }); err != nil {
			t.Fatal(err)
		}
		got := kept(t, h)
		end(t, h)
		if d := cmp.Diff(want, got, protocmp.Transform()); d != "" || len(want) != 3 {
			t.Errorf("replayed from %d on: %s", from, d)
		}
	}
}

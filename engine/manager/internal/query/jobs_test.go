package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// joined makes a test's events, and keeps the expected answers.
type joined struct {
	testing.TB
	folder  string
	model   *Model
	history *history.History
	jobs    *Reader
	record  uint64
	there   map[scheduler.JobID]*wire.JobSummary
	last    scheduler.JobID
}

const base = scheduler.Time(1_800_000_000_000_000_000)

func newCluster(t testing.TB) *joined {
	t.Helper()
	c := &joined{TB: t, folder: t.TempDir(), there: map[scheduler.JobID]*wire.JobSummary{}}
	c.open()
	t.Cleanup(c.close)
	return c
}

func (c *joined) open() {
	c.Helper()
	h, err := history.Open(history.Options{Folder: c.folder, KeepFor: 100 * 365 * 24 * time.Hour, AttemptsMax: 20, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		c.Fatal(err)
	}
	h.BeginAt(c.record, &core.Changes{})
	c.history, c.model = h, NewModel(Bounds{JobsKept: 1, AttemptsKept: 5}, core.Changes{})
	c.jobs = NewReader(c.model, h)
}

func (c *joined) close() {
	c.model.Close()
	_ = c.history.Close() // in some tests it can't be written
}

func (c *joined) tell(r changes.ChangeSet) {
	c.record++
	f := core.Changes{At: base, ChangeSet: r}
	c.history.TakeChanges(c.record, &f)
	c.model.Enqueue(f)
}

// begin begins a job.
func (c *joined) begin(user, pool string) scheduler.JobID {
	c.last++
	c.there[c.last] = &wire.JobSummary{Job: uint64(c.last), Name: fmt.Sprintf("name of %v", c.last), User: user, Pool: pool, State: wire.JobState_JOB_STATE_RUNNING, Submitted: int64(base) + int64(c.last)}
	c.tell(changes.ChangeSet{Jobs: []changes.Job{{
		ID: c.last, Spec: &wire.JobSpec{Name: fmt.Sprintf("name of %v", c.last), Principal: &wire.Principal{Name: user}}, Pool: pool, State: wire.JobState_JOB_STATE_RUNNING, Submitted: base.Add(time.Duration(c.last)),
		StageNames: []string{"map", "reduce"}, Plan: &graph.Expanded{Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "map", Nodes: 3}, {Name: "reduce", Nodes: 1}}}},
	}}})
	return c.last
}

// end ends one.
func (c *joined) end(id scheduler.JobID, state wire.JobState, attempts ...*wire.AttemptStatus) {
	s := c.there[id]
	s.State, s.Ended = state, int64(base.Add(time.Hour))
	c.tell(changes.ChangeSet{Ended: []*wire.JobStatus{{Summary: s, Stages: []*wire.StageStatus{{Name: "map", Nodes: 3}, {Name: "reduce", Nodes: 1}}, Counters: []*wire.Counter{{Name: "rows", Value: 7}}, Attempts: attempts}}})
}

// sealed waits until the files of all that ended are written.
func (c *joined) sealed() {
	c.Helper()
	if err := c.history.Sync(c.Context(), c.record); err != nil {
		c.Fatal(err)
	}
}

// attempts adds so many ended attempts of a job, and returns them as they are to be shown.
func (c *joined) attempts(id scheduler.JobID, n int) (rows []changes.Attempt) {
	for i := range n {
		start := base.Add(time.Duration(i) * time.Second)
		rows = append(rows, changes.Attempt{
			ID: scheduler.AttemptID(100*int(id) + i + 1), Job: id, Bundle: 1, Run: 1, Launcher: 1, On: "oak", Stage: int32(i % 2), Index: int32(i), State: changes.Ended, Outcome: scheduler.Finished,
			Ready: base, Launched: start, Started: start, Executing: start, Since: start.Add(time.Minute), Work: scheduler.Work{Running: time.Minute, Written: 3},
		})
	}
	c.tell(changes.ChangeSet{Attempts: rows})
	return rows
}

func (c *joined) find(id scheduler.JobID) *Job {
	c.Helper()
	j, err := c.jobs.Find(c.Context(), id)
	if err != nil || j == nil {
		c.Fatal(j, err)
	}
	c.Cleanup(j.Close)
	return j
}

// all are the attempts that a job shows.
func (c *joined) all(j *Job, q jobfile.Query) (rows []changes.Attempt, kept, of int) {
	c.Helper()
	kept, of, err := j.Each(c.Context(), q, func(a *changes.Attempt) bool { rows = append(rows, *a); return true })
	if err != nil {
		c.Fatal(err)
	}
	return rows, kept, of
}

// some has so many things happen.
func (c *joined) some(r *rand.Rand, n int) {
	for range n {
		var live []scheduler.JobID
		for id, s := range c.there {
			if s.Ended == 0 {
				live = append(live, id)
			}
		}
		slices.Sort(live)
		switch {
		case r.IntN(10) == 0:
			c.sealed()
		case len(live) > 0 && r.IntN(3) > 0:
			c.end(live[r.IntN(len(live))], Over[r.IntN(len(Over))])
		default:
			c.begin([]string{"ann", "bob", "eve"}[r.IntN(3)], []string{"", "etl"}[r.IntN(2)])
		}
	}
}

// However jobs come and end, and their files are written, while a reader turns pages: each job that
// is there throughout is on one page.
func TestPagesNeitherSkipNorRepeat(t *testing.T) {
	for seed := range uint64(10) {
		c := newCluster(t)
		r := rand.New(rand.NewPCG(seed, 7))
		c.some(r, 60)
		throughout, seen := slices.Collect(maps.Keys(c.there)), map[uint64]int{}
		over, stop := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(over)
			for {
				select {
				case <-stop:
					return
				default:
					c.some(r, 1)
				}
			}
		}()
		for q, more := (Query{Limit: 3}), true; more; {
			p, err := c.jobs.List(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range p.Jobs {
				seen[s.Job]++
				q.Before = scheduler.JobID(s.Job)
			}
			if more = p.More; more && len(p.Jobs) < q.Limit {
				t.Errorf("seed %d: a page of %d jobs says that there are more", seed, len(p.Jobs))
			}
		}
		close(stop)
		<-over
		for _, id := range throughout {
			if seen[uint64(id)] != 1 {
				t.Errorf("seed %d: %v was shown %d times", seed, id, seen[uint64(id)])
			}
		}
	}
}

// Whatever state jobs are in, a list equals a walk through all of them, and so does its count.
func TestListsAreThoseOfAllJobs(t *testing.T) {
	c := newCluster(t)
	r := rand.New(rand.NewPCG(3, 7))
	pool, user := "etl", "ann"
	queries := []Query{
		{},
		{Filter: Filter{User: &user}},
		{Filter: Filter{Pool: &pool}},
		{Filter: Filter{User: &user, Pool: &pool}},
		{Filter: Filter{States: Over}},
		{Filter: Filter{States: []wire.JobState{wire.JobState_JOB_STATE_RUNNING}}},
		{Filter: Filter{States: Over[1:2], User: &user}},
		{Filter: Filter{Name: "job-1"}},
		{May: func(s *wire.JobSummary) bool { return s.User != "eve" }},
		{On: 9},
		{Filter: Filter{Since: base.Add(7)}},
	}
	for step := range 150 {
		c.some(r, 1)
		q := queries[step%len(queries)]
		q.Limit = 1 + r.IntN(20)
		if r.IntN(2) == 0 {
			q.Before = scheduler.JobID(1 + r.IntN(int(c.last)+1))
		}
		var want []uint64
		total := 0
		for _, id := range slices.Backward(slices.Sorted(maps.Keys(c.there))) {
			s := c.there[id]
			if q.Fits(s) && q.On == 0 && (q.May == nil || q.May(s)) {
				if total++; q.Before == 0 || id < q.Before {
					want = append(want, s.Job)
				}
			}
		}
		p, err := c.jobs.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for _, s := range p.Jobs {
			got = append(got, s.Job)
			if d := gocmp.Diff(c.there[scheduler.JobID(s.Job)].String(), s.String()); d != "" {
				t.Errorf("step %d: %s", step, d)
			}
		}
		if !slices.Equal(got, want[:min(len(want), q.Limit)]) || p.More != (len(want) > q.Limit) || p.Total() != total {
			t.Fatalf("step %d: %v of %d (%t), want %v of %d", step, got, p.Total(), p.More, want, total)
		}
	}
}

// A job is shown alike while it lives, on its way to history and in history, also over a restart.
func TestAJobOnItsWay(t *testing.T) {
	c := newCluster(t)
	id := c.begin("ann", "etl")
	rows := c.attempts(id, 10)
	shown := func(where string) {
		t.Helper()
		j := c.find(id)
		got, kept, of := c.all(j, jobfile.Query{})
		if d := gocmp.Diff(rows, got); d != "" || kept != 10 || of != 10 {
			t.Errorf("%s: %d of %d: %s", where, kept, of, d)
		}
		if got, _, _ := c.all(j, jobfile.Query{After: rows[6].ID}); len(got) != 3 || got[0].ID != rows[7].ID {
			t.Errorf("%s: behind the seventh are %v", where, got)
		}
		if g, err := j.Graph(t.Context()); err != nil || len(g.GetStages()) != 2 {
			t.Errorf("%s: %v %v", where, g, err)
		}
		if j.Status.GetSummary().GetName() != "name of job-1" || j.Lives() != (c.there[id].Ended == 0) || j.Damage != nil {
			t.Errorf("%s: %v, lives: %t, %v", where, j.Status, j.Lives(), j.Damage)
		}
	}
	shown("while it lives")
	seen := c.find(id) // and ends during a query
	c.end(id, wire.JobState_JOB_STATE_FAILED)
	if got, _, _ := c.all(seen, jobfile.Query{}); len(got) != 10 {
		t.Errorf("who looked meanwhile sees %d attempts", len(got))
	}
	shown("when it ended")
	c.sealed()
	shown("when its file is there")
	for range 3 {
		c.end(c.begin("bob", ""), wire.JobState_JOB_STATE_KILLED)
	}
	c.sealed()
	shown("when the model forgot it")
	c.close()
	c.open()
	shown("after a restart")
	if s := c.find(id).Status; len(s.Counters) != 1 || s.Counters[0].Value != 7 {
		t.Errorf("its counters are %v", s.Counters)
	}
	if j, err := c.jobs.Find(t.Context(), 99); j != nil || err != nil {
		t.Errorf("a job that never was: %v %v", j, err)
	}
}

// If a job has more attempts than are kept, the answer says how many there are.
func TestManyAttempts(t *testing.T) {
	c := newCluster(t)
	id := c.begin("ann", "")
	c.attempts(id, 2000)
	c.end(id, wire.JobState_JOB_STATE_SUCCEEDED)
	j := c.find(id)
	rows, kept, of := c.all(j, jobfile.Query{})
	if len(rows) != kept || kept != 1020 || of != 2000 {
		t.Errorf("%d attempts, %d of %d", len(rows), kept, of)
	}
	newest, of, err := j.Newest(t.Context(), 7)
	if err != nil || of != 2000 || !slices.Equal(newest, rows[kept-7:]) {
		t.Errorf("the newest are %v of %d, %v", newest, of, err)
	}
}

// For a job with a cut or damaged file the summary is shown, with the name of the file. The
// undamaged rest is shown.
func TestDamage(t *testing.T) {
	for what, x := range map[string]struct {
		damage func(b []byte) []byte
		graph  bool // can be shown
	}{
		"cut":                     {func(b []byte) []byte { return b[:len(b)-1] }, false},
		"empty":                   {func([]byte) []byte { return nil }, false},
		"damaged in its head":     {func(b []byte) []byte { b[20] ^= 1; return b }, false},
		"damaged in its attempts": {func(b []byte) []byte { b[len(b)-1] ^= 1; return b }, true},
	} {
		t.Run(what, func(t *testing.T) {
			c := newCluster(t)
			id := c.begin("ann", "etl")
			c.attempts(id, 10)
			c.end(id, wire.JobState_JOB_STATE_FAILED)
			c.end(c.begin("bob", ""), wire.JobState_JOB_STATE_KILLED) // so that the model forgets it
			c.sealed()
			path := filepath.Join(c.folder, "jobs", fmt.Sprintf("%d.history", id))
			b, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, x.damage(b), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			j := c.find(id)
			if j.Status.GetSummary().GetUser() != "ann" || (j.Damage == nil) != x.graph {
				t.Errorf("%v, %v", j.Status, j.Damage)
			}
			_, _, wrong := j.Each(t.Context(), jobfile.Query{}, func(*changes.Attempt) bool { return true })
			if status.Code(wrong) != codes.DataLoss || !strings.Contains(wrong.Error(), path) {
				t.Errorf("its attempts: %v", wrong)
			}
			if g, err := j.Graph(t.Context()); (err == nil && g != nil) != x.graph {
				t.Errorf("its graph: %v %v", g, err)
			}
			if s := c.history.State(); len(s.Damaged) != 1 || !strings.Contains(s.Damaged[0], path) {
				t.Errorf("history says %q", s.Damaged)
			}
		})
	}
}

// A job whose file was removed is shown as far as the index knows it.
func TestAFileIsGone(t *testing.T) {
	c := newCluster(t)
	id := c.begin("ann", "etl")
	c.end(id, wire.JobState_JOB_STATE_FAILED)
	c.end(c.begin("bob", ""), wire.JobState_JOB_STATE_KILLED) // so that the model forgets it
	c.sealed()
	if err := os.Remove(filepath.Join(c.folder, "jobs", fmt.Sprintf("%d.history", id))); err != nil {
		t.Fatal(err)
	}
	if j := c.find(id); j.Damage == nil || !strings.Contains(j.Damage.Error(), "is gone") || j.Status.GetSummary().GetUser() != "ann" {
		t.Errorf("%v, %v", j.Status, j.Damage)
	}
}

// While history can't be written a job that ended is shown as the model remembers it, and why not all is.
func TestHistoryThatCantBeWritten(t *testing.T) {
	c := newCluster(t)
	c.sealed()
	id := c.begin("ann", "etl")
	c.attempts(id, 10)
	folder := filepath.Join(c.folder, "jobs")
	if err := cmp.Or(os.Remove(folder), os.WriteFile(folder, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	c.end(id, wire.JobState_JOB_STATE_FAILED, &wire.AttemptStatus{Attempt: 101, Stage: "reduce", Launcher: "oak", State: "failed", Started: 5, Ended: 7})
	j := c.find(id)
	rows, kept, of := c.all(j, jobfile.Query{})
	if kept != 1 || of != 10 || len(rows) != 1 || rows[0].Stage != 1 || rows[0].Outcome != scheduler.Failed || rows[0].On != "oak" {
		t.Errorf("%d of %d: %v", kept, of, rows)
	}
	if j.Damage == nil || !strings.Contains(j.Damage.Error(), "could not be written yet") {
		t.Errorf("it says %v", j.Damage)
	}
	p, err := c.jobs.List(context.Background(), Query{Limit: 5})
	if err != nil || len(p.Jobs) != 1 {
		t.Errorf("%v %v", p, err)
	}
	c.end(c.begin("bob", ""), wire.JobState_JOB_STATE_KILLED) // so that the model forgets it
	_, _, err = c.find(id).Each(t.Context(), jobfile.Query{}, func(*changes.Attempt) bool { return true })
	if status.Code(err) != codes.Unavailable || !errors.Is(err, history.ErrNotYet) {
		t.Errorf("of attempts that nobody knows now it says %v", err)
	}
}

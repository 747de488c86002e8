package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

var few = Bounds{JobsKept: 2, AttemptsKept: 3, AttemptsMax: 40}

func newModel(t testing.TB, b Bounds, rows changes.ChangeSet) *Model {
	m := NewModel(b, core.Changes{Decides: 1, ChangeSet: rows})
	t.Cleanup(m.Close)
	return m
}

func aJob(id scheduler.JobID) changes.Job {
	return changes.Job{
		ID: id, Spec: &wire.JobSpec{Name: "n", Principal: &wire.Principal{Name: "ann"}}, StageNames: []string{"map", "publish"},
		State: wire.JobState_JOB_STATE_RUNNING, Pool: "p", Groups: 3,
	}
}

func attempt(id scheduler.AttemptID, s changes.State) changes.Attempt {
	return changes.Attempt{ID: id, Job: 1, Launcher: 1, On: "l1", State: s, Ready: 5, Launched: 10}
}

func over(id scheduler.AttemptID, at scheduler.Time, o scheduler.AttemptOutcome) changes.Attempt {
	a := attempt(id, changes.Ended)
	a.Started, a.Since, a.Outcome = 12, at, o
	return a
}

func (m *Model) status(t testing.TB, id scheduler.JobID) *wire.JobStatus {
	t.Helper()
	s, known, err := m.JobStatus(t.Context(), id, true)
	if err != nil || !known {
		t.Fatalf("%v: known: %t, %v", id, known, err)
	}
	return s
}

func ids(s *wire.JobStatus) (list []uint64) {
	for _, a := range s.Attempts {
		list = append(list, a.Attempt)
	}
	return list
}

// The newest that ended are shown in order of their ends, then all that live in order of id, with
// their states in words.
func TestAttemptsOfAStatus(t *testing.T) {
	m := newModel(t, few, changes.ChangeSet{Jobs: []changes.Job{aJob(1)}})
	var batch []changes.Attempt
	for id := range scheduler.AttemptID(9) {
		batch = append(batch, attempt(id+1, changes.Running))
	}
	m.Enqueue(core.Changes{ChangeSet: changes.ChangeSet{Attempts: batch}})
	for i, id := range []scheduler.AttemptID{7, 2, 5, 1} {
		m.Enqueue(core.Changes{ChangeSet: changes.ChangeSet{Attempts: []changes.Attempt{over(id, scheduler.Time(20+i), scheduler.Finished)}}})
	}
	rests, waits, stops := attempt(8, changes.Suspended), attempt(6, changes.Starved), attempt(3, changes.Stopping)
	rests.Since, rests.Suspended, stops.Reason = 30, 4, "killed by ann"
	m.Enqueue(core.Changes{ChangeSet: changes.ChangeSet{Attempts: []changes.Attempt{stops, waits, rests}}})
	s := m.status(t, 1)
	if got, want := ids(s), []uint64{2, 5, 1, 3, 4, 6, 8, 9}; !slices.Equal(got, want) {
		t.Errorf("shown are %v, want %v", got, want)
	}
	var states []string
	for _, a := range s.Attempts {
		states = append(states, a.State)
	}
	want := "finished finished finished stopping running starved suspended running"
	if got := strings.Join(states, " "); got != want {
		t.Errorf("they are %s, want %s", got, want)
	}
	if a := s.Attempts[6]; a.SuspendedSince != 30 || a.SuspendedNs != 4 || s.Attempts[3].Reason != "killed by ann" || s.Attempts[0].Ended != 21 || s.Attempts[0].Launcher != "l1" {
		t.Errorf("%v", s.Attempts)
	}
	for id, want := range map[scheduler.AttemptID]bool{7: true, 9: true, 10: false} {
		if job, known, _ := m.JobOfAttempt(t.Context(), id); known != want || known && job != 1 {
			t.Errorf("attempt %d is of %v: %t", id, job, known)
		}
	}
}

// A job's reasons for waiting come from the rows, and from the slots of the current launchers.
func TestWhyAJobWaits(t *testing.T) {
	j := aJob(1)
	j.State = wire.JobState_JOB_STATE_ASKED
	m := newModel(t, few, changes.ChangeSet{Jobs: []changes.Job{j}})
	told := func(want string) {
		t.Helper()
		if got := strings.Join(m.status(t, 1).Waiting, "; "); got != want {
			t.Errorf("it waits for %q, want %q", got, want)
		}
	}
	tell := func(decides uint64, launchers ...changes.Launcher) {
		m.Enqueue(core.Changes{Decides: decides, ChangeSet: changes.ChangeSet{Jobs: []changes.Job{j}, Launchers: launchers}})
	}
	told("waits to be admitted by the policy")
	j.State = wire.JobState_JOB_STATE_RUNNING
	j.Waits = changes.Waits{Ready: 3, Longest: `stage "map" node 0`, Width: 1, Needs: []scheduler.SlotCount{{Kind: "default", Count: 2}}}
	tell(1)
	told(`no launcher is there; 3 ready: a group of stage "map" node 0 needs 2 default slots (0 free of 0 in the cluster)`)
	slots := func(n int) []scheduler.SlotCount { return []scheduler.SlotCount{{Kind: "default", Count: n}} }
	tell(0, changes.Launcher{ID: 1, State: "up", Slots: slots(4), Free: slots(3)}, changes.Launcher{ID: 2, State: "draining", Slots: slots(2), Free: slots(2)})
	told(`no policy is running; 3 ready: a group of stage "map" node 0 needs 2 default slots (3 free of 6 in the cluster)`)
	j.Waits.Width, j.Waits.Needs = 2, append([]scheduler.SlotCount{{Kind: "b", Count: 1}}, slots(2)...)
	j.Waits.Policy = scheduler.Waiting{Reason: scheduler.WaitAtLimit, Detail: "others first"}
	tell(2, changes.Launcher{ID: 1, State: "up", Slots: slots(4), Free: slots(1)}, changes.Launcher{ID: 2, State: "lost", Slots: slots(2)})
	told(`3 ready: a bundle of 2 groups of stage "map" node 0 needs 1 b slots at once (0 free of 0 in the cluster) and 2 default slots at once (1 free of 4 in the cluster); policy: ` +
		scheduler.WaitAtLimit.String() + ": others first")
	tell(2, changes.Launcher{ID: 1, State: "draining", Slots: slots(4), Free: slots(1)})
	told(`all 1 launchers that are up are drained or excluded, so nothing new starts: see "hamadryad launchers"; "hamadryad undrain NAME" ends a drain; ` +
		`3 ready: a bundle of 2 groups of stage "map" node 0 needs 1 b slots at once (0 free of 0 in the cluster) and 2 default slots at once (0 free of 4 in the cluster); policy: ` +
		scheduler.WaitAtLimit.String() + ": others first")
	tell(2, changes.Launcher{ID: 1, Gone: true})
	told(`no launcher is there; 3 ready: a bundle of 2 groups of stage "map" node 0 needs 1 b slots at once (0 free of 0 in the cluster) and 2 default slots at once (0 free of 0 in the cluster); policy: ` +
		scheduler.WaitAtLimit.String() + ": others first")
	j.Waits = changes.Waits{Retry: "later", Stopping: 2, WhyNot: "too large"}
	tell(2)
	told("later; 2 attempts are being stopped; too large")
	if list, _ := m.Launchers(t.Context()); len(list) != 1 || list[0].State != "lost" || list[0].Launcher != 2 {
		t.Errorf("launchers %v", list)
	}
}

func endOf(id uint64, state wire.JobState) *wire.JobStatus {
	return &wire.JobStatus{
		Summary:  &wire.JobSummary{Job: id, State: state, User: "ann", Pool: "p"},
		Attempts: []*wire.AttemptStatus{{Attempt: 100 * id}},
	}
}

// An ended job is shown with its final status, before the live ones; the last few are kept. Answers
// made of its message do not change it.
func TestJobsThatEnd(t *testing.T) {
	m := newModel(t, few, changes.ChangeSet{Jobs: []changes.Job{aJob(1), aJob(2), aJob(3), aJob(4)}})
	m.Enqueue(core.Changes{ChangeSet: changes.ChangeSet{Attempts: []changes.Attempt{attempt(1, changes.Running)}}})
	for _, id := range []uint64{3, 1, 4} {
		m.Enqueue(core.Changes{ChangeSet: changes.ChangeSet{Ended: []*wire.JobStatus{endOf(id, wire.JobState_JOB_STATE_KILLED)}}})
	}
	list := func(all bool) (ids []uint64) {
		jobs, _, err := m.find(t.Context(), all, &Filter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			ids = append(ids, j.Job)
		}
		return ids
	}
	if got, live := list(true), list(false); !slices.Equal(got, []uint64{1, 4, 2}) || !slices.Equal(live, []uint64{2}) {
		t.Errorf("all are %v, live %v", got, live)
	}
	if _, known, _ := m.JobStatus(t.Context(), 3, false); known {
		t.Error("the first that ended is kept")
	}
	m.status(t, 1).Notes = []string{"changed"}
	if s := m.status(t, 1); len(s.Notes) > 0 || len(s.Attempts) != 1 {
		t.Errorf("it ended as %v", s)
	}
	if s, _, _ := m.JobStatus(t.Context(), 1, false); len(s.Attempts) > 0 {
		t.Error("attempts that nobody asked for")
	}
	if job, known, _ := m.JobOfAttempt(t.Context(), 400); !known || job != 4 {
		t.Errorf("its attempt is of %v: %t", job, known)
	}
	for id, want := range map[scheduler.AttemptID][]scheduler.JobID{400: {4}, 401: nil} {
		if may, err := m.MayHave(t.Context(), id); err != nil || !slices.Equal(may, want) {
			t.Errorf("attempt %d may be of %v, want %v, error %v", id, may, want, err)
		}
	}
	if on, _ := m.OnLauncher(t.Context(), 1); len(on) > 0 {
		t.Errorf("%v lives", on)
	}
}

// An answer has everything that was queued before. With a full queue writers block, and so do
// readers, but not for ever.
func TestAReadSeesWhatWasHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q queue
		var taken []uint64
		free := make(chan struct{})
		q.init(func(f core.Changes) { <-free; taken = append(taken, f.Decides) })
		settled := func(within time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			return q.awaitApplied(ctx)
		}
		handed := uint64(0)
		hand := func(rows int) {
			q.enqueue(core.Changes{Decides: handed + 1, ChangeSet: changes.ChangeSet{Decided: make([]changes.Decision, rows)}})
			handed++
		}
		if err := settled(0); err != nil {
			t.Errorf("nothing was handed over: %v", err)
		}
		go func() {
			for range 3 {
				hand(queueRowsMax / 2)
			}
			hand(2 * queueRowsMax)
		}()
		synctest.Wait()
		if handed != 2 || q.waits() != queueRowsMax {
			t.Fatalf("%d batches of half of the queue were handed over at once, and %d rows wait", handed, q.waits())
		}
		if err := settled(time.Second); !errors.Is(err, context.DeadlineExceeded) || len(taken) > 0 {
			t.Errorf("while nothing is taken in a read says %v", err)
		}
		free <- struct{}{}
		synctest.Wait()
		if handed != 3 {
			t.Errorf("%d batches were handed over when there was room for one more", handed)
		}
		close(free)
		synctest.Wait()
		if err := settled(0); err != nil || !slices.Equal(taken, []uint64{1, 2, 3, 4}) {
			t.Errorf("taken in were %d: %v", taken, err)
		}
		q.close()
		if hand(1); settled(0) != nil || len(taken) != 4 {
			t.Errorf("after its end %d were taken in", taken)
		}
	})
}

// Revisions grow with changes of their own data alone.
func TestRevisions(t *testing.T) {
	m := newModel(t, few, changes.ChangeSet{Jobs: []changes.Job{aJob(1), aJob(2)}})
	get := func() string {
		r, _ := m.Revisions(t.Context())
		one, _, _ := m.JobRevision(t.Context(), 1)
		two, _, _ := m.JobRevision(t.Context(), 2)
		return fmt.Sprint(r.Jobs, r.Launchers, one, two)
	}
	for _, c := range []struct {
		rows changes.ChangeSet
		want string
	}{
		{changes.ChangeSet{}, "1 0 1 1"},
		{changes.ChangeSet{Decided: make([]changes.Decision, 1)}, "1 0 1 1"},
		{changes.ChangeSet{Attempts: []changes.Attempt{attempt(1, changes.Running)}}, "2 0 2 1"},
		{changes.ChangeSet{Launchers: []changes.Launcher{{ID: 1, State: "up"}}}, "2 3 2 1"},
		{changes.ChangeSet{Stages: []changes.Stage{{Job: 2}}}, "4 3 2 4"},
		{changes.ChangeSet{Ended: []*wire.JobStatus{endOf(1, wire.JobState_JOB_STATE_FAILED)}}, "5 3 5 4"},
	} {
		if m.Enqueue(core.Changes{ChangeSet: c.rows}); get() != c.want {
			t.Errorf("%v: revisions %s, want %s", c.rows, get(), c.want)
		}
	}
}

// Beyond the bound the oldest finished attempts are dropped first, then the oldest of all; failures
// stay longer. Shown and live attempts always stay.
func TestAttemptsAreBounded(t *testing.T) {
	m := newModel(t, Bounds{JobsKept: 1, AttemptsKept: 2, AttemptsMax: 2 * chunkRows}, changes.ChangeSet{Jobs: []changes.Job{aJob(1)}})
	next := scheduler.AttemptID(1)
	more := func(n int, outcome func(i int) scheduler.AttemptOutcome) {
		var batch []changes.Attempt
		for i := range n {
			batch = append(batch, over(next, scheduler.Time(next), outcome(i)))
			batch[i].Reason = "because"
			next++
		}
		m.Enqueue(core.Changes{ChangeSet: changes.ChangeSet{Attempts: batch}})
	}
	m.Enqueue(core.Changes{ChangeSet: changes.ChangeSet{Attempts: []changes.Attempt{attempt(next, changes.Running)}}})
	next++
	more(5*chunkRows, func(i int) scheduler.AttemptOutcome {
		if i%16 == 0 {
			return scheduler.Failed
		}
		return scheduler.Finished
	})
	has := func() (kept, failed int) {
		after, lives := scheduler.AttemptID(0), 0
		for {
			list, n, came, _, err := m.Attempts(t.Context(), 1, after, make([]changes.Attempt, 0, 1000))
			if err != nil || came != int(next)-1 {
				t.Fatalf("%d came, %v", came, err)
			}
			for _, a := range list {
				if a.ID <= after {
					t.Fatalf("%d follows on %d", a.ID, after)
				}
				if after = a.ID; a.Outcome == scheduler.Failed {
					failed++
				}
				if a.State == changes.Running {
					lives++
				}
			}
			if kept += len(list); len(list) == 0 {
				if kept != n || lives != 1 {
					t.Fatalf("%d rows, %d live, of %d", kept, lives, n)
				}
				return kept, failed
			}
		}
	}
	if kept, failed := has(); kept > 2*chunkRows+1 || failed != 5*chunkRows/16 {
		t.Errorf("%d are kept, %d of them failed", kept, failed)
	}
	more(3*chunkRows, func(int) scheduler.AttemptOutcome { return scheduler.Lost })
	if kept, _ := has(); kept > 2*chunkRows+1 || kept < chunkRows {
		t.Errorf("of those that did not finish %d are kept", kept)
	}
	if got, want := ids(m.status(t, 1)), []uint64{uint64(next - 2), uint64(next - 1), 1}; !slices.Equal(got, want) {
		t.Errorf("shown are %v, want %v", got, want)
	}
	if r := &m.live.Get(1).attempts.reasons; len(r.of) > 2*chunkRows || len(r.order) > 5*chunkRows {
		t.Errorf("%d reasons are kept, %d places", len(r.of), len(r.order))
	}
}

// Reasons are bounded by bytes: the oldest go.
func TestReasonsAreBounded(t *testing.T) {
	var s reasons
	long := strings.Repeat("x", 1<<20)
	for id := range scheduler.AttemptID(40) {
		s.set(id, reason{text: long})
		s.set(id, reason{text: long, beneficiary: 1})
	}
	if n := len(s.of); n != 15 || s.of[39].text != long || s.bytes > reasonBytesMax {
		t.Errorf("%d are kept, %d bytes", n, s.bytes)
	}
	for id := range scheduler.AttemptID(40) {
		s.set(id, reason{})
	}
	if len(s.of) != 0 || s.bytes != 0 {
		t.Errorf("%d are left, %d bytes", len(s.of), s.bytes)
	}
}

// plain is a simple model: all rows in maps.
type plain struct {
	jobs     map[scheduler.JobID]changes.Job
	ended    []scheduler.JobID
	attempts map[scheduler.AttemptID]changes.Attempt
}

// Lists equal the result of a walk over all rows, in whatever order rows come, and if they come
// twice.
func TestLikeAWalkOverAllRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := NewModel(Bounds{JobsKept: 3, AttemptsKept: 4, AttemptsMax: 1000}, core.Changes{})
		defer m.Close()
		p := plain{jobs: map[scheduler.JobID]changes.Job{}, attempts: map[scheduler.AttemptID]changes.Attempt{}}
		for range rapid.IntRange(1, 12).Draw(t, "batches") {
			f := core.Changes{ChangeSet: p.draw(t)}
			m.Enqueue(f)
			if rapid.Bool().Draw(t, "twice") {
				m.Enqueue(f)
			}
		}
		p.check(t, m)
	})
}

func (p *plain) draw(t *rapid.T) (r changes.ChangeSet) {
	for range rapid.IntRange(0, 3).Draw(t, "jobs") {
		j := aJob(scheduler.JobID(rapid.IntRange(1, 6).Draw(t, "job")))
		if slices.Contains(p.ended, j.ID) {
			continue
		}
		j.State = wire.JobState(rapid.IntRange(1, 3).Draw(t, "state"))
		j.Pool = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "pool")
		r.Jobs = append(r.Jobs, j)
		p.jobs[j.ID] = j
	}
	for range rapid.IntRange(0, 8).Draw(t, "attempts") {
		id := scheduler.AttemptID(rapid.IntRange(1, 40).Draw(t, "attempt"))
		a := attempt(id, changes.State(rapid.IntRange(int(changes.Assigned), int(changes.Ended)).Draw(t, "attempt's state")))
		a.Job, a.Launcher = scheduler.JobID(id%6+1), scheduler.LauncherID(id%3+1)
		if old, known := p.attempts[id]; known && old.State == changes.Ended {
			continue
		}
		if a.State == changes.Ended {
			a.Outcome = scheduler.Failed
		}
		r.Attempts = append(r.Attempts, a)
		if _, lives := p.jobs[a.Job]; lives {
			p.attempts[id] = a
		}
	}
	if live := slices.Sorted(maps.Keys(p.jobs)); len(live) > 0 && rapid.IntRange(0, 2).Draw(t, "end") == 0 {
		id := rapid.SampledFrom(live).Draw(t, "that ends")
		r.Ended = append(r.Ended, endOf(uint64(id), wire.JobState_JOB_STATE_SUCCEEDED))
		delete(p.jobs, id)
		maps.DeleteFunc(p.attempts, func(_ scheduler.AttemptID, a changes.Attempt) bool { return a.Job == id })
		p.ended = append(p.ended, id)
	}
	return r
}

func (p *plain) check(t *rapid.T, m *Model) {
	kept := p.ended[max(0, len(p.ended)-3):]
	for _, pool := range []string{"", "a", "p"} {
		for state := range wire.JobState(6) {
			want := []scheduler.JobID{}
			for id, j := range p.jobs {
				if j.Pool == pool && (state == 0 || j.State == state) {
					want = append(want, id)
				}
			}
			if pool == "p" && (state == 0 || state == wire.JobState_JOB_STATE_SUCCEEDED) {
				want = append(want, kept...)
			}
			slices.Sort(want)
			user := "ann"
			f := Filter{Pool: &pool, User: &user}
			if state != 0 {
				f.States = []wire.JobState{state}
			}
			found, all, _ := m.find(context.Background(), true, &f)
			got := []scheduler.JobID{}
			for _, s := range found {
				got = append(got, scheduler.JobID(s.Job))
			}
			if slices.Sort(got); !slices.Equal(got, want) || len(all) != len(p.jobs)+len(kept) {
				t.Fatalf("jobs in pool %q and state %v are %v, want %v, of %v", pool, state, got, want, all)
			}
		}
	}
	for on := range scheduler.LauncherID(4) {
		want := []changes.Attempt{}
		jobs := []scheduler.JobID{}
		for _, a := range p.attempts {
			if a.State != changes.Ended && a.Launcher == on {
				want, jobs = append(want, a), append(jobs, a.Job)
			}
		}
		slices.SortFunc(want, func(x, y changes.Attempt) int { return cmp.Compare(x.ID, y.ID) })
		if got, _ := m.OnLauncher(context.Background(), on); !slices.Equal(got, want) {
			t.Fatalf("on launcher %d are %v, want %v", on, got, want)
		}
		slices.Sort(jobs)
		if got, _ := m.jobsOn(context.Background(), on); on != 0 && !slices.Equal(got, slices.Compact(jobs)) {
			t.Fatalf("on launcher %d are %v, want %v", on, got, jobs)
		}
	}
	for id := range p.jobs {
		want := []changes.Attempt{}
		for _, a := range p.attempts {
			if a.Job == id {
				want = append(want, a)
			}
		}
		slices.SortFunc(want, func(x, y changes.Attempt) int { return cmp.Compare(x.ID, y.ID) })
		if got, n, came, _, _ := m.Attempts(context.Background(), id, 0, make([]changes.Attempt, 0, 100)); !slices.Equal(got, want) || n != len(want) || came != n {
			t.Fatalf("%v has %v, %d of %d, want %v", id, got, n, came, want)
		}
	}
}

// Chunks that are full are split, and ids that come late find their place.
func TestRowsKeepTheirOrder(t *testing.T) {
	var rows attempts
	for _, id := range []scheduler.AttemptID{10_000_000, 1} {
		rows.add(id)
	}
	for id := range scheduler.AttemptID(3 * chunkRows) {
		rows.add(1000 + 2*id)
	}
	for id := range scheduler.AttemptID(chunkRows) {
		rows.add(1001 + 2*id)
	}
	last, n := scheduler.AttemptID(0), 0
	for _, c := range rows.chunks {
		for _, r := range c.rows {
			if r.id <= last || rows.get(r.id).id != r.id {
				t.Fatalf("%d follows on %d", r.id, last)
			}
			last = r.id
			n++
		}
		if len(c.rows) == 0 || len(c.rows) > chunkRows {
			t.Errorf("a chunk has %d rows", len(c.rows))
		}
	}
	if n != 4*chunkRows+2 || rows.len != n || rows.get(2) != nil || rows.get(20_000_000) != nil {
		t.Errorf("%d rows of %d", n, rows.len)
	}
}

// BenchmarkApply is the cost of a row: each of 20,000 attempts at a time is assigned, runs and
// ends, in batches as a busy core makes them.
func BenchmarkApply(b *testing.B) {
	m := newModel(b, Bounds{JobsKept: 1000, AttemptsKept: 1000}, changes.ChangeSet{Jobs: []changes.Job{aJob(1)}})
	const live, batch = 20_000, 500
	rows := 0
	next := scheduler.AttemptID(1)
	one := func(id scheduler.AttemptID, s changes.State, at scheduler.Time) changes.Attempt {
		a := over(id, at, scheduler.Finished)
		a.State, a.Launcher, a.On = s, scheduler.LauncherID(id%1000), "launcher"
		if s != changes.Ended {
			a.Outcome = 0
		}
		return a
	}
	var steps []core.Changes
	for rows < b.N {
		f := core.Changes{Decides: 1}
		for range batch / 3 {
			f.Attempts = append(f.Attempts, one(next, changes.Assigned, 0))
			if next > live/2 {
				f.Attempts = append(f.Attempts, one(next-live/2, changes.Running, 0))
			}
			if next > live {
				f.Attempts = append(f.Attempts, one(next-live, changes.Ended, scheduler.Time(next)))
			}
			next++
		}
		f.Jobs = []changes.Job{aJob(1)}
		rows += len(f.Attempts)
		steps = append(steps, f)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for _, f := range steps {
		m.apply(f)
	}
}

// BenchmarkStatusOfManyAttempts is the cost of a job's status with all of 100,000 live attempts.
func BenchmarkStatusOfManyAttempts(b *testing.B) {
	const many = 100_000
	rows := changes.ChangeSet{Jobs: []changes.Job{aJob(1)}}
	for id := range scheduler.AttemptID(many) {
		rows.Attempts = append(rows.Attempts, attempt(id+1, changes.Running))
	}
	m := newModel(b, few, rows)
	b.ReportAllocs()
	for b.Loop() {
		if n := len(m.status(b, 1).Attempts); n != many {
			b.Fatalf("%d attempts", n)
		}
	}
}

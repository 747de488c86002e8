package index

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func open(t testing.TB, path string) *Index {
	t.Helper()
	x, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	x.db.NoSync = true // no test cuts the power
	t.Cleanup(x.Close)
	return x
}

var states = []wire.JobState{wire.JobState_JOB_STATE_SUCCEEDED, wire.JobState_JOB_STATE_FAILED, wire.JobState_JOB_STATE_KILLED}

func entry(id uint64, ended int64, user, pool string, state wire.JobState) Entry {
	return Entry{
		Summary: &wire.JobSummary{Job: id, Name: fmt.Sprint("job ", id), User: user, Pool: pool, State: state, Ended: ended},
		Record:  id * 3, Bytes: int64(id), Attempts: id, Kept: id,
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func idsOf(entries []*Entry) (ids []uint64) {
	for _, e := range entries {
		ids = append(ids, e.Summary.Job)
	}
	return ids
}

// Whatever comes and goes, each list is what going through all jobs would make, and counts are right.
func TestListsAreThoseOfAllJobs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		folder, err := os.MkdirTemp(t.TempDir(), "")
		must(t, err)
		x, err := Open(filepath.Join(folder, "x"))
		must(t, err)
		x.db.NoSync = true
		defer x.Close()
		there := map[uint64]Entry{}
		names := rapid.SampledFrom([]string{"", "a", "ab", "b\x00", string(make([]byte, 300))})
		for range rapid.IntRange(1, 30).Draw(rt, "changes") {
			id := rapid.Uint64Range(1, 12).Draw(rt, "id")
			if rapid.IntRange(0, 3).Draw(rt, "remove") == 0 {
				must(t, x.Remove([]scheduler.JobID{scheduler.JobID(id)}))
				delete(there, id)
				continue
			}
			e := entry(id, rapid.Int64Range(0, 5).Draw(rt, "ended"), names.Draw(rt, "user"), names.Draw(rt, "pool"), rapid.SampledFrom(states).Draw(rt, "state"))
			must(t, x.Put([]Entry{e}))
			there[id] = e
		}
		q := Query{User: names.Draw(rt, "of user"), Pool: names.Draw(rt, "of pool"), State: rapid.SampledFrom(append(states, 0)).Draw(rt, "of state"), Oldest: rapid.Bool().Draw(rt, "oldest")}
		q.Limit = rapid.IntRange(1, 4).Draw(rt, "limit")
		var want []Entry
		bytes := int64(0)
		for _, e := range there {
			bytes += e.Bytes
			if q.matches(e.Summary) {
				want = append(want, e)
			}
		}
		slices.SortFunc(want, func(a, b Entry) int {
			return cmp.Or(cmp.Compare(b.Summary.Ended, a.Summary.Ended), cmp.Compare(b.Summary.Job, a.Summary.Job))
		})
		if q.Oldest {
			slices.Reverse(want)
		}
		var got []uint64
		for more := true; more; more = q.After != "" {
			p, err := x.List(q)
			must(t, err)
			if p.Total >= 0 && p.Total != int64(len(want)) {
				rt.Fatalf("%d jobs in all, want %d", p.Total, len(want))
			}
			got, q.After = append(got, idsOf(p.Entries)...), p.Next
		}
		if !slices.EqualFunc(got, want, func(id uint64, e Entry) bool { return id == e.Summary.Job }) {
			rt.Fatalf("%v, want %v", got, want)
		}
		if n, size, err := x.Totals(); err != nil || n != len(there) || size != bytes {
			rt.Fatalf("%d jobs of %d bytes, %v; want %d of %d", n, size, err, len(there), bytes)
		}
	})
}

// A job that is there all the time is on one page, whatever comes and goes while the pages are read.
func TestPagesWhileJobsComeAndGo(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "x"))
	r := rand.New(rand.NewPCG(3, 4))
	id, oldest := uint64(0), uint64(1)
	add := func(n int) {
		var more []Entry
		for range n {
			id++
			more = append(more, entry(id, int64(id)/3, "u", "p", states[id%3]))
		}
		must(t, x.Put(more))
	}
	add(2000)
	stay := [2]uint64{501, id}
	seen := map[uint64]int{}
	for q, more := (Query{Limit: 37}), true; more; more = q.After != "" {
		p, err := x.List(q)
		must(t, err)
		for _, id := range idsOf(p.Entries) {
			seen[id]++
		}
		q.After = p.Next
		add(r.IntN(20))
		var gone []scheduler.JobID
		for range r.IntN(20) {
			if oldest < stay[0] {
				gone = append(gone, scheduler.JobID(oldest))
				oldest++
			}
		}
		must(t, x.Remove(gone))
	}
	for id := stay[0]; id <= stay[1]; id++ {
		if seen[id] != 1 {
			t.Errorf("job %d was there all the time and is on %d pages", id, seen[id])
		}
	}
}

// What was put is there when it is opened again.
func TestItStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	x := open(t, path)
	must(t, x.Put([]Entry{entry(5, 1, "ann", "p", states[1])}))
	x.Close()
	x = open(t, path)
	e, err := x.Get(5)
	if err != nil || e == nil || e.Record != 15 || e.Summary.GetUser() != "ann" || e.Attempts != 5 {
		t.Errorf("%v %v", e, err)
	}
	if e, err := x.Get(6); e != nil || err != nil {
		t.Errorf("%v %v", e, err)
	}
}

func TestNonsenseCursors(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "x"))
	for _, c := range []Cursor{"x", "AAAA", "%%%", Cursor(make([]byte, 100))} {
		if _, err := x.List(Query{After: c}); err == nil || errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %v", c, err)
		}
	}
}

// Whatever is wrong with the file, the index says that it is damaged, or gives nothing but what was
// put into it. It never ends the process.
func TestDamage(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "x")
	x := open(t, path)
	var entries []Entry
	for id := range uint64(300) {
		entries = append(entries, entry(id+1, int64(id), "u", "p", states[0]))
	}
	must(t, x.Put(entries))
	x.Close()
	whole, err := os.ReadFile(path)
	must(t, err)
	damaged, tries := 0, 0
	try := func(b []byte) {
		tries++
		path := filepath.Join(folder, fmt.Sprint("y", tries)) // a lock of one that panicked may stay
		must(t, os.WriteFile(path, b, 0o600))
		x, err := Open(path)
		if err == nil {
			defer x.Close()
			var ids []scheduler.JobID
			if ids, err = x.IDs(); err == nil {
				for _, id := range ids {
					e, wrong := x.Get(id)
					if wrong != nil {
						err = wrong
					} else if e != nil && e.Record != 3*e.Summary.Job {
						t.Errorf("%v", e)
					}
				}
				_, wrong := x.List(Query{Limit: 1000})
				err = errors.Join(err, wrong)
			}
		}
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Error(err)
		}
		if err != nil {
			damaged++
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 30 {
		b := slices.Clone(whole)
		at := r.IntN(len(b))
		for i := at; i < min(len(b), at+1+r.IntN(4096)); i++ {
			b[i] ^= byte(1 + r.IntN(255))
		}
		try(b)
		try(whole[:1+r.IntN(len(whole)-1)])
	}
	if damaged < 20 {
		t.Errorf("of %d damaged files %d were found to be so", tries, damaged)
	}
}

// With 100,000 jobs: how long a page takes, the slowest of twenty, and how long opening does.
func BenchmarkIndex(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x")
	x := open(b, path)
	var entries []Entry
	for id := range uint64(100_000) {
		entries = append(entries, entry(id+1, int64(id), fmt.Sprint("user", id%50), fmt.Sprint("pool", id%20), states[id%3]))
		if len(entries) == 1000 {
			must(b, x.Put(entries))
			entries = entries[:0]
		}
	}
	for _, q := range []Query{{}, {User: "user7"}, {User: "user7", Pool: "pool9"}, {Pool: "pool9", State: states[1]}} {
		b.Run(fmt.Sprintf("page of %s %s %d", q.User, q.Pool, q.State), func(b *testing.B) {
			slowest := time.Duration(0)
			for b.Loop() {
				q.After = ""
				for range 20 {
					start := time.Now()
					p, err := x.List(q)
					must(b, err)
					slowest, q.After = max(slowest, time.Since(start)), p.Next
				}
			}
			b.ReportMetric(float64(slowest.Microseconds()), "slowest-µs")
		})
	}
	x.Close()
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			x, err := Open(path)
			must(b, err)
			_, err = x.List(Query{})
			must(b, err)
			x.Close()
		}
	})
}

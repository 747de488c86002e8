package index

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
		Summary: &wire.JobSummary{Job: id, Name: fmt.Sprint("job ", id), User: user, Pool: pool, State: state, Submitted: int64(id), Ended: ended},
		Record:  id * 3, Bytes: int64(id), Attempts: id, Kept: id,
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Whatever is added and removed, a list equals what a walk through all jobs would make, and so do
// the counts.
func TestListsAreThoseOfAllJobs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		folder, err := os.MkdirTemp(t.TempDir(), "")
		must(t, err)
		path := filepath.Join(folder, "x")
		x, err := Open(path)
		must(t, err)
		x.db.NoSync = true
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
			must(t, x.PutEntries([]Entry{e}))
			there[id] = e
		}
		if rapid.Bool().Draw(rt, "opened anew") {
			x.Close()
			x, err = Open(path)
			must(t, err)
		}
		defer x.Close()
		q := query(rt, names)
		plainly := listed(there, &q)
		got := x.List(q)
		if !slices.Equal(got.IDs, plainly.IDs) || !maps.Equal(got.ByState, plainly.ByState) {
			rt.Fatalf("%+v, want %+v", got, plainly)
		}
		var ended []Ended
		bytes := int64(0)
		for id, e := range there {
			ended = append(ended, Ended{scheduler.JobID(id), e.Summary.Ended, e.Bytes})
			bytes += e.Bytes
		}
		slices.SortFunc(ended, func(a, b Ended) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
		if n := rapid.IntRange(0, 13).Draw(rt, "oldest"); !slices.Equal(x.Oldest(n), ended[:min(n, len(ended))]) {
			rt.Fatalf("the %d oldest are %v, want %v", n, x.Oldest(n), ended)
		}
		if n, size := x.Totals(); n != len(there) || size != bytes || len(x.IDs()) != n {
			rt.Fatalf("%d jobs of %d bytes, %v; want %d of %d", n, size, x.IDs(), len(there), bytes)
		}
		entries, err := x.Entries([]scheduler.JobID{12, 3, 99})
		must(t, err)
		for _, e := range entries {
			if want := there[e.Summary.Job]; want.Summary == nil || e.Bytes != want.Bytes || e.Summary.User != want.Summary.User {
				rt.Fatalf("%v, want %v", e, want)
			}
		}
	})
}

// query draws one.
func query(rt *rapid.T, names *rapid.Generator[string]) Query {
	q := Query{
		States: rapid.SliceOfN(rapid.SampledFrom(states), 0, 2).Draw(rt, "states"), Name: rapid.SampledFrom([]string{"", "job 1", "2", "none"}).Draw(rt, "name"),
		Before: scheduler.JobID(rapid.Uint64Range(0, 13).Draw(rt, "before")), Since: rapid.Int64Range(0, 13).Draw(rt, "since"), Limit: rapid.IntRange(0, 13).Draw(rt, "limit"),
	}
	for _, of := range []**string{&q.User, &q.Pool} {
		if rapid.Bool().Draw(rt, "of one") {
			name := names.Draw(rt, "of")
			*of = &name
		}
	}
	if rapid.Bool().Draw(rt, "of some") {
		q.Fits = func(user, pool string) bool { return user != "a" || pool == "ab" }
	}
	for id := range scheduler.JobID(12) {
		if rapid.IntRange(0, 5).Draw(rt, "without") == 0 {
			q.Without = append(q.Without, id)
		}
	}
	return q
}

// listed goes through all jobs.
func listed(there map[uint64]Entry, q *Query) Found {
	f := Found{ByState: map[wire.JobState]int{}}
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(there))) {
		s := there[id].Summary
		if len(q.States) > 0 && !slices.Contains(q.States, s.State) || q.User != nil && s.User != *q.User || q.Pool != nil && s.Pool != *q.Pool ||
			!strings.Contains(s.Name, q.Name) || q.Fits != nil && !q.Fits(s.User, s.Pool) || slices.Contains(q.Without, scheduler.JobID(id)) || s.Submitted < q.Since {
			continue
		}
		f.ByState[s.State]++
		if len(f.IDs) < q.Limit && (q.Before == 0 || scheduler.JobID(id) < q.Before) {
			f.IDs = append(f.IDs, scheduler.JobID(id))
		}
	}
	return f
}

// Stored entries are there after the index is opened again.
func TestItStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	x := open(t, path)
	must(t, x.PutEntries([]Entry{entry(5, 1, "ann", "p", states[1])}))
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

// Whatever is wrong with the file, the index reports the damage, or returns only what was put into
// it. It never ends the process.
func TestDamage(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "x")
	x := open(t, path)
	var entries []Entry
	for id := range uint64(300) {
		entries = append(entries, entry(id+1, int64(id), "u", "p", states[0]))
	}
	must(t, x.PutEntries(entries))
	x.Close()
	whole, err := os.ReadFile(path)
	must(t, err)
	damaged, tries := 0, 0
	try := func(b []byte) {
		tries++
		path := filepath.Join(folder, fmt.Sprint("y", tries)) // a try that panicked may leave its lock
		must(t, os.WriteFile(path, b, 0o600))
		x, err := Open(path)
		if err == nil {
			defer x.Close()
			for _, id := range x.IDs() {
				e, wrong := x.Get(id)
				if err = errors.Join(err, wrong); e != nil && e.Record != 3*e.Summary.Job {
					t.Errorf("%v", e)
				}
			}
			_, wrong := x.Entries(x.List(Query{Limit: 1000}).IDs)
			err = errors.Join(err, wrong)
		}
		if err != nil && (!errors.Is(err, ErrDamaged) || strings.Contains(err.Error(), "%!")) {
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

// With 100,000 jobs: how long a page takes, and how long opening does.
func BenchmarkIndex(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x")
	x := open(b, path)
	var entries []Entry
	for id := range uint64(100_000) {
		entries = append(entries, entry(id+1, int64(id), fmt.Sprint("user", id%50), fmt.Sprint("pool", id%20), states[id%3]))
		if len(entries) == 1000 {
			must(b, x.PutEntries(entries))
			entries = entries[:0]
		}
	}
	user, fits := "user7", func(string, string) bool { return true }
	for what, q := range map[string]Query{"all": {}, "a user": {User: &user}, "a name": {Name: "job 99999"}, "those that one may look at": {Fits: fits}} {
		b.Run(what, func(b *testing.B) {
			q.Limit = 100
			for b.Loop() {
				_, err := x.Entries(x.List(q).IDs)
				must(b, err)
			}
		})
	}
	x.Close()
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			x, err := Open(path)
			must(b, err)
			x.Close()
		}
	})
}

package jobfile

import (
	compare "cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/atomicfile"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// anyAttempt draws one of which nothing is as it is in life, but that times are in microseconds.
func anyAttempt(id scheduler.AttemptID) *rapid.Generator[changes.Attempt] {
	return rapid.Custom(func(t *rapid.T) changes.Attempt {
		micros := func(name string) int64 { return rapid.Int64Range(-1<<50, 1<<50).Draw(t, name) * 1000 }
		at := func(name string) scheduler.Time {
			return rapid.OneOf(rapid.Just(scheduler.Time(0)), rapid.Just(scheduler.Time(micros(name)))).Draw(t, name)
		}
		bytes := rapid.Int64()
		a := changes.Attempt{
			ID: id, Job: 7, Bundle: scheduler.BundleID(rapid.Uint64().Draw(t, "bundle")), Run: rapid.Uint64().Draw(t, "run"),
			Launcher: scheduler.LauncherID(rapid.Uint64().Draw(t, "launcher")), On: rapid.SampledFrom([]string{"", "a", "b\x00"}).Draw(t, "on"),
			Stage: rapid.Int32().Draw(t, "stage"), Index: rapid.Int32().Draw(t, "index"),
			State: changes.State(rapid.Byte().Draw(t, "state")), Speculative: rapid.Bool().Draw(t, "speculative"),
			Outcome: scheduler.AttemptOutcome(rapid.Byte().Draw(t, "outcome")),
			Ready:   at("ready"), Launched: scheduler.Time(micros("launched")), Started: at("started"), Executing: at("executing"), Since: at("since"),
			Suspended: time.Duration(micros("suspended")), Reason: rapid.SampledFrom([]string{"", "lost", strings.Repeat("x", 5000)}).Draw(t, "reason"),
			For:  scheduler.JobID(rapid.Uint64().Draw(t, "for")),
			Work: scheduler.Work{Running: time.Duration(micros("running")), ToRead: bytes.Draw(t, "toread"), Written: bytes.Draw(t, "written")},
		}
		for i := range a.Work.Read {
			a.Work.Read[i] = bytes.Draw(t, "read")
		}
		return a
	})
}

// A job whose attempts all failed with different texts still has a file, and the file says what it
// has no space for.
func TestReasonsWithoutEnd(t *testing.T) {
	const each, count = 64 << 10, textsMax>>16 + 10
	j := &Job{ID: 7}
	for i := range count {
		j.Attempts = append(j.Attempts, changes.Attempt{ID: scheduler.AttemptID(i + 1), Outcome: scheduler.Failed, Reason: fmt.Sprintf("%0*d", each, i)})
	}
	b, err := Encode(j)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Decode("it", b)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	err = r.Each(Query{}, func(a *changes.Attempt) bool {
		want := textNotKept
		if i < count-10 {
			want = j.Attempts[i].Reason
		}
		if a.Reason != want {
			t.Fatalf("attempt %d: %d bytes, %.80q", a.ID, len(a.Reason), a.Reason)
		}
		i++
		return true
	})
	if err != nil || i != count {
		t.Fatalf("%d attempts, %v", i, err)
	}
}

// Whatever attempts are like, they are read back as written, in order of id.
func TestWhatIsWrittenComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.Uint64Range(1, 1<<63), 0, 40, rapid.ID).Draw(t, "ids")
		j := &Job{ID: 7, Record: 12}
		for _, id := range ids {
			j.Attempts = append(j.Attempts, anyAttempt(scheduler.AttemptID(id)).Draw(t, "attempt"))
		}
		j.Course = Course{Admitted: 3, Waits: []Wait{{4, "why"}, {5, ""}}, Attempts: uint64(len(ids)) + 2, Stages: []Aggregate{{Longest: 1}}}
		j.Status = &wire.JobStatus{Summary: &wire.JobSummary{Job: 7, Name: rapid.String().Draw(t, "name")}, Notes: []string{"a"}}
		j.Graph = &wire.Graph{Stages: []*wire.Stage{{Name: "map", Nodes: 3}}}
		b, err := Encode(j)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Decode("f", b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Whole()
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(j.Attempts, func(a, b changes.Attempt) int { return compare.Compare(a.ID, b.ID) })
		if len(j.Attempts) == 0 {
			j.Attempts, got.Attempts = nil, nil
		}
		if d := cmp.Diff(j, got, protocmp.Transform()); d != "" {
			t.Fatal(d)
		}
		if kept, of := r.Kept(); kept != uint64(len(ids)) || of != uint64(len(ids))+2 {
			t.Fatalf("%d of %d kept, want %d", kept, of, len(ids))
		}
	})
}

// Of rows of one attempt the last counts.
func TestALaterRowReplacesAnEarlierOne(t *testing.T) {
	j := &Job{ID: 1, Attempts: []changes.Attempt{{ID: 2, Reason: "old"}, {ID: 1}, {ID: 2, Reason: "new"}}}
	r := decoded(t, j)
	got, more, err := r.Attempts(Query{})
	if err != nil || more || len(got) != 2 || got[0].ID != 1 || got[1].Reason != "new" {
		t.Errorf("%v, %v %v", got, more, err)
	}
}

func decoded(t testing.TB, j *Job) *Reader {
	t.Helper()
	b, err := Encode(j)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Decode("f", b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// realistic makes attempts as a job of two stages on so many launchers has them: some ran at once,
// none took as long as another, and few failed.
func realistic(n int) *Job {
	r := rand.New(rand.NewPCG(1, 2))
	const launchers, slots = 200, 8
	start := scheduler.Time(1_800_000_000_000_000_000)
	j := &Job{ID: 42, Record: 9, Status: &wire.JobStatus{Summary: &wire.JobSummary{Job: 42, Name: "sort"}}}
	j.Graph = &wire.Graph{Stages: []*wire.Stage{{Name: "map", Nodes: uint32(n)}}}
	free := make([]scheduler.Time, launchers*slots)
	for i := range free {
		free[i] = start
	}
	for i := range n {
		slot := i % len(free)
		a := changes.Attempt{
			ID: scheduler.AttemptID(5_000_000 + i), Job: 42, Bundle: scheduler.BundleID(3_000_000 + i), Run: uint64(5_000_000 + i),
			Launcher: scheduler.LauncherID(1 + slot/slots), On: fmt.Sprintf("node-%03d", slot/slots), Stage: int32(i * 10 / n / 8), Index: int32(i),
			State: changes.Ended, Outcome: scheduler.Finished, Ready: start,
		}
		a.Launched = free[slot].Add(time.Duration(r.IntN(2e6)))
		a.Started = a.Launched.Add(time.Duration(5e5 + r.IntN(5e6)))
		a.Executing = a.Started.Add(time.Duration(r.IntN(3e6)))
		took := time.Duration(float64(20*time.Second) * (0.7 + 0.5*r.ExpFloat64()/3))
		a.Since = a.Started.Add(took)
		a.Work = scheduler.Work{Running: took - time.Duration(r.IntN(1e6)), ToRead: 128 << 20, Written: 30<<20 + r.Int64N(4<<20)}
		a.Work.Read[0] = 128 << 20
		if r.IntN(20) == 0 {
			a.Work.Read[0], a.Work.Read[1] = 0, 128<<20
		}
		if r.IntN(300) == 0 {
			a.Outcome, a.Reason = scheduler.Failed, "the program ended with exit status 1"
		}
		free[slot] = a.Since
		j.Attempts = append(j.Attempts, a)
		j.Course.Count(&a)
	}
	return j
}

// What is asked for is found, by pages and without, as in a list of all.
func TestQueries(t *testing.T) {
	j := realistic(3*blockRows + 5)
	r := decoded(t, j)
	for _, n := range []int{0, 3, blockRows + 9, 1 << 30} {
		rows, err := r.Newest(n)
		if want := j.Attempts[max(0, len(j.Attempts)-n):]; err != nil || !slices.EqualFunc(rows, want, func(a, b changes.Attempt) bool { return a.ID == b.ID }) {
			t.Errorf("the newest %d are %d: %v", n, len(rows), err)
		}
	}
	failed := []scheduler.AttemptOutcome{scheduler.Failed}
	for _, q := range []Query{
		{},
		{Outcomes: failed},
		{Stages: []int32{1}},
		{Launcher: "node-007"},
		{Launcher: "nobody"},
		{Stages: []int32{0}, Outcomes: failed, Launcher: "node-001"},
		{After: j.Attempts[blockRows-1].ID, Stages: []int32{0, 1}},
		{Stages: []int32{9}},
	} {
		var want []scheduler.AttemptID
		for i := range j.Attempts {
			if q.matches(&j.Attempts[i]) {
				want = append(want, j.Attempts[i].ID)
			}
		}
		for _, limit := range []int{0, 1000} {
			var got []scheduler.AttemptID
			for q, more := q, true; more; {
				q.Limit = limit
				var page []changes.Attempt
				var err error
				if page, more, err = r.Attempts(q); err != nil {
					t.Fatal(err)
				}
				for i := range page {
					got = append(got, page[i].ID)
					q.After = page[i].ID
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%+v by %d: %d attempts, want %d", q, limit, len(got), len(want))
			}
		}
	}
}

// A file that is truncated, or has any wrong byte, is refused by name, or what is read of it is
// still right.
func TestDamage(t *testing.T) {
	j := realistic(3000)
	whole, err := Encode(j)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "job-42.history")
	try := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if err == nil {
			_, err = r.Whole()
			r.Close()
		}
		var damage *DamageError
		if !errors.As(err, &damage) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", what, err)
		}
	}
	step := max(1, len(whole)/300)
	for at := 0; at < len(whole); at += step {
		try(fmt.Sprintf("cut at %d", at), whole[:at])
		b := slices.Clone(whole)
		b[at] ^= 0x10
		try(fmt.Sprintf("byte %d", at), b)
	}
	for at := range 2 * fileStart {
		b := slices.Clone(whole)
		b[at] ^= 0x01
		try(fmt.Sprintf("byte %d", at), b)
	}
	try("more at the end", append(slices.Clone(whole), 0))
	for version, want := range map[string]string{
		"\x02": "has format version 2, and this program reads version 1: it can't be shown; start the version of Hamadryad that wrote it, or a newer one",
		"\x00": "does not begin as such a file does",
	} {
		other := append([]byte(magic[:7]+version), whole[8:]...)
		try("version "+version, other)
		if _, err := Decode(path, other); err == nil || !strings.Contains(err.Error(), want) || IsDamage(err) != (version == "\x00") {
			t.Error(err)
		}
	}
}

// The status can still be read from a file whose attempts are damaged.
func TestWhatIsWholeOfADamagedFileIsRead(t *testing.T) {
	j := realistic(100)
	b, err := Encode(j)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	r, err := Decode("f", b)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := r.Status(); err != nil || !proto.Equal(s, j.Status) {
		t.Error(s, err)
	}
	if _, _, err := r.Attempts(Query{}); err == nil {
		t.Error("attempts were read that are damaged")
	}
}

// Counting attempts in two halves gives the same as counting them all.
func TestCountsJoin(t *testing.T) {
	j := realistic(1000)
	var a, b Course
	for i := range j.Attempts {
		if i%3 == 0 {
			a.Count(&j.Attempts[i])
		} else {
			b.Count(&j.Attempts[i])
		}
	}
	a.Join(&b)
	if d := cmp.Diff(j.Course, a); d != "" {
		t.Error(d)
	}
	var n uint64
	for _, s := range a.Stages {
		for _, k := range s.Took {
			n += k
		}
	}
	if n != 1000 {
		t.Errorf("%d attempts are in the histograms", n)
	}
}

// It prints the bytes that an attempt takes, and how long a file of 100,000 takes to write, to open
// and to show the first page of.
func BenchmarkFile(b *testing.B) {
	j := realistic(100_000)
	path := filepath.Join(b.TempDir(), "f")
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			content, err := Encode(j)
			if err == nil {
				err = atomicfile.Replace(path, content)
			}
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(len(content))/float64(len(j.Attempts)), "B/attempt")
		}
	})
	b.Run("first-page", func(b *testing.B) {
		for b.Loop() {
			r, err := Open(path)
			if err != nil {
				b.Fatal(err)
			}
			_, err = r.Status()
			rows, _, wrong := r.Attempts(Query{Limit: 100})
			if err != nil || wrong != nil || len(rows) != 100 {
				b.Fatal(err, wrong)
			}
			r.Close()
		}
	})
	b.Run("status", func(b *testing.B) {
		for b.Loop() {
			r, err := Open(path)
			if err == nil {
				_, err = r.Status()
			}
			if err != nil {
				b.Fatal(err)
			}
			r.Close()
		}
	})
}

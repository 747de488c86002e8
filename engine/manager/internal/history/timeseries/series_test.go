package timeseries

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/internal/smalldisk"
)

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.db.NoSync = true // no test cuts the power
	return s
}

// oracle sums all samples of a tier anew.
func oracle(samples []Row, tier int) (rows []Row) {
	for _, s := range samples {
		if n := len(rows); n == 0 || rows[n-1].At != Tiers[tier].slot(s.At) {
			rows = append(rows, Row{At: Tiers[tier].slot(s.At)})
		}
		s.Samples = 1
		rows[len(rows)-1].add(s)
	}
	last := samples[len(samples)-1].At
	for len(rows) > 0 && rows[0].At <= Tiers[tier].slot(last)-int64(Tiers[tier].Keep/time.Second) {
		rows = rows[1:]
	}
	return rows
}

// However samples come, with gaps, clean ends and starts between them, each tier has the sums of them
// all, back to where it ends.
func TestTiersAreTheSumsOfSamples(t *testing.T) {
	folder, n := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		path := filepath.Join(folder, fmt.Sprint(n))
		s := open(t, path)
		var samples []Row
		at := rapid.Int64Range(1_000_000, 1_000_200).Draw(rt, "begin")
		names := []string{"a", "b", "c"}
		for range rapid.IntRange(1, 60).Draw(rt, "samples") {
			at += rapid.SampledFrom([]int64{0, 1, 1, 1, 2, 9, 60, 700, 20_000}).Draw(rt, "later")
			r := Row{At: at, Slots: rapid.Uint64Range(0, 9).Draw(rt, "slots"), Free: 1}
			for _, name := range names[rapid.IntRange(0, 3).Draw(rt, "pools"):] {
				r.Pools = append(r.Pools, Pool{Name: name, Jobs: 1, Running: rapid.Uint64Range(0, 1000).Draw(rt, "running"), Ready: 3, Told: 1, Held: 2, Own: 1, Demand: 9, Share: 1500})
			}
			samples = append(samples, r)
			if err := s.Add(r); err != nil {
				rt.Fatal(err)
			}
			if rapid.IntRange(0, 9).Draw(rt, "again") == 0 {
				if err := s.Close(); err != nil {
					rt.Fatal(err)
				}
				s = open(t, path)
				at++ // a manager does not come back within its second
			}
		}
		for tier := range Tiers {
			got, _, err := s.Rows(tier, 0, at+1, 0)
			want := oracle(samples, tier)
			if len(got) > len(want) { // rows go when a row of their tier is written
				got = got[len(got)-len(want):]
			}
			if d := cmp.Diff(want, got); d != "" || err != nil {
				rt.Fatal(tier, err, d)
			}
		}
		s.Close()
	})
}

// A process that is killed loses no row but the newest ten seconds' of the finest tier.
func TestWhatIsWrittenSurvives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	s := open(t, path)
	for at := int64(1_000_000); at < 1_000_095; at++ {
		if err := s.Add(Row{At: at, Slots: 2}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.db.Close(); err != nil { // and not s: what waits is lost
		t.Fatal(err)
	}
	s = open(t, path)
	defer s.Close()
	seconds, _, _ := s.Rows(0, 0, 2_000_000, 0)
	minutes, _, err := s.Rows(2, 0, 2_000_000, 0)
	if len(seconds) != 90 || len(minutes) != 2 || err != nil || minutes[0].Samples+minutes[1].Samples != 90 {
		t.Errorf("%d seconds, %v %v", len(seconds), minutes, err)
	}
}

// The store has a bound, whatever pools there are.
func TestBounds(t *testing.T) {
	var r Row
	for i := range PoolsMax + 10 {
		r.Pools = append(r.Pools, Pool{Name: fmt.Sprintf("p%05d", i), Jobs: 1})
	}
	b := r.Bounded()
	if last := b.Pools[len(b.Pools)-1]; len(b.Pools) != PoolsMax+1 || last.Name != Others || last.Jobs != 10 {
		t.Errorf("%d pools, %v", len(b.Pools), last)
	}
	s := open(t, filepath.Join(t.TempDir(), "s"))
	defer s.Close()
	for at := int64(1_000_000); at < 1_005_000; at += 5 {
		if err := s.Add(Row{At: at}); err != nil {
			t.Fatal(err)
		}
	}
	if rows, _, err := s.Rows(0, 0, 2_000_000, 0); len(rows) > 600/5+2 || err != nil {
		t.Errorf("%d rows %v", len(rows), err)
	}
}

// Damaged files are put aside, and samples go on.
func TestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	s := open(t, path)
	for at := int64(1_000_000); at < 1_000_500; at++ {
		if err := s.Add(Row{At: at, Pools: []Pool{{Name: "a", Jobs: 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b[:len(b)/2+100], 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	defer s.Close()
	if err := s.Add(Row{At: 2_000_000}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path + ".damaged"); err != nil {
		t.Error(err)
	}
}

// Rows that are taken together are the sums of what they are made of, no more than are asked for, and none
// that fits is missing.
func TestCoarse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tier := Tiers[rapid.IntRange(0, 2).Draw(t, "tier")]
		every := int64(tier.Every / time.Second)
		last := rapid.Int64Range(1_000_000, 1_000_500).Draw(t, "now") * every
		var rows []Row
		for at := last - int64(tier.Keep/time.Second) + every; at <= last; at += every * rapid.Int64Range(1, 90).Draw(t, "step") {
			rows = append(rows, Row{At: at, Samples: 1, Slots: 2, Pools: []Pool{{Name: "a", Running: rapid.Uint64Range(1, 9).Draw(t, "running")}}})
		}
		points := rapid.IntRange(2, 700).Draw(t, "points")
		c := NewCoarse(tier, points)
		for i := range rows {
			c.Add(&rows[i])
		}
		sums, apart := c.Rows()
		if len(sums) > points {
			t.Fatalf("%d rows where %d were asked for", len(sums), points)
		}
		left := rows
		for i, s := range sums {
			want := Row{At: s.At}
			for len(left) > 0 && left[0].At < s.At+int64(apart/time.Second) {
				want.add(left[0])
				left = left[1:]
			}
			if d := cmp.Diff(want, s); d != "" || i > 0 && s.At < sums[i-1].At+int64(apart/time.Second) {
				t.Fatalf("row %d: %s", i, d)
			}
		}
		if len(left) > 0 {
			t.Fatalf("%d rows are missing", len(left))
		}
	})
}

// The pools with most work are listed each, and the others summed.
func TestLargest(t *testing.T) {
	rows := []Row{{Pools: []Pool{{Name: "a", Running: 1}, {Name: "b", Ready: 3}}}, {Pools: []Pool{{Name: "a", Demand: 9}, {Name: "c"}}}}
	if names, left := LargestPools(rows, 2); fmt.Sprint(names, left) != "[a b] 1" {
		t.Error(names, left)
	}
	if KeepPool(rows, "b"); len(rows[0].Pools) != 1 || len(rows[1].Pools) != 0 {
		t.Error(rows)
	}
}

// A row of another form is damaged.
func TestAnotherForm(t *testing.T) {
	for _, b := range [][]byte{nil, {2, 8, 3, 1, 'a', 1, 0, 5, 4}, {0, 2, 8, 3, 1, 'a', 1, 0, 5, 4, 2, 6, 7, 9}} {
		if err := new(Row).decode(7, b); !errors.Is(err, errDamaged) {
			t.Errorf("%v: got %v, want that the row is damaged", b, err)
		}
	}
}

// A file that is there opens on a full disk, with all that it has; where there is none, that is an error, and
// nothing is put aside.
func TestAFullDisk(t *testing.T) {
	folder := t.TempDir()
	release, err := smalldisk.Mount(folder, "1m")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	s := open(t, filepath.Join(folder, "series.db"))
	for at := range int64(40) {
		if err := s.Add(Row{At: 1000 + at, Slots: 8}); err != nil {
			t.Fatal(err)
		}
	}
	want, _, err := s.Rows(0, 0, 2000, 0)
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := smalldisk.Fill(folder); err != nil {
		t.Fatal(err)
	}
	s = open(t, filepath.Join(folder, "series.db"))
	got, _, err := s.Rows(0, 0, 2000, 0)
	if d := cmp.Diff(want, got); err != nil || d != "" || len(got) != 40 {
		t.Errorf("%v %s", err, d)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(folder, "new.db"), slog.New(slog.DiscardHandler)); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("on a full disk: %v", err)
	}
	if aside, _ := filepath.Glob(filepath.Join(folder, "*.damaged")); len(aside) > 0 {
		t.Errorf("put aside are %q", aside)
	}
}

// Reading samples takes memory for the samples returned, not for all that are kept. Taking a sample
// does not wait for readers.
func TestReadingIsBounded(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "series.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.db.NoSync = true
	const pools, rows = 500, 1440
	for i := range int64(rows) {
		r := Row{At: 10 * i, Samples: 10, Slots: 100, Free: 40}
		for p := range pools {
			r.Pools = append(r.Pools, Pool{Name: fmt.Sprintf("users.user%04d", p), Jobs: 10, Running: 30})
		}
		s.waiting = append(s.waiting, ClosedRow{1, r})
		if i%100 == 99 || i == rows-1 {
			if err := s.write(); err != nil {
				t.Fatal(err)
			}
		}
	}
	read := func(take func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		take()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if bytes := read(func() {
		sums, every, err := s.Rows(1, 0, 10*rows, 20)
		if err != nil || len(sums) < 18 || sums[3].Pools[7].Running != 30*uint64(every/Tiers[1].Every) {
			t.Errorf("%d rows, %v", len(sums), err)
		}
	}); bytes > 16<<20 { // all that is kept is 60 MB
		t.Errorf("to show 20 points of %d pools takes %d bytes", pools, bytes)
	}
	if err := s.each(1, 0, 100, func(*Row) {
		if s.mu.TryLock() {
			s.mu.Unlock()
		} else {
			t.Error("who reads keeps samples out")
		}
	}); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

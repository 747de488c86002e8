package series

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
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
				r.Pools = append(r.Pools, Pool{Name: name, Jobs: 1, Running: rapid.Uint64Range(0, 1000).Draw(rt, "running"), Ready: 3})
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
			got, err := s.Rows(tier, 0, at+1)
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
	seconds, _ := s.Rows(0, 0, 2_000_000)
	minutes, err := s.Rows(2, 0, 2_000_000)
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
	if rows, err := s.Rows(0, 0, 2_000_000); len(rows) > 600/5+2 || err != nil {
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

package file

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/internal/chantest"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// countingStore counts the ranges that are opened of its one file.
type countingStore struct {
	storage.Store
	data  []byte
	opens int
}

func (s *countingStore) Stat(context.Context, string) (storage.Info, error) {
	return storage.Info{Size: int64(len(s.data))}, nil
}

func (s *countingStore) Open(_ context.Context, _ string, offset, length int64) (io.ReadCloser, error) {
	s.opens++
	return io.NopCloser(bytes.NewReader(s.data[offset : offset+length])), nil
}

// Readers of consecutive partitions share the reads of the index. Many runs to a partition, and
// partitions without any, are found as well.
func TestIndexIsReadInParts(t *testing.T) {
	const parts = 3 * indexLines
	for _, c := range []struct {
		name    string
		records func(partition int) int
		budget  int64
		opens   int // at most, of the index
	}{
		{"one run each", func(int) int { return 3 }, 0, 2 * 3},
		{"every third has some", func(p int) int { return p % 3 / 2 }, 0, 2 * 3},
		{"many runs", func(p int) int { return 100 + p }, 20_000, 2 * parts},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			w, err := Create(path, parts, Options{Budget: c.budget})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 100 + parts {
				for p := range parts {
					if i < c.records(p) {
						if err := w.Write(t.Context(), p, chantest.Record(name(p), i)); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			if err := w.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s := &countingStore{data: data}
			f, err := OpenStore(t.Context(), s, "s://x")
			if err != nil {
				t.Fatal(err)
			}
			s.opens = 0
			for p := range parts {
				if _, err := f.Layout(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
			if s.opens > c.opens {
				t.Errorf("the index was read in %d parts, want at most %d", s.opens, c.opens)
			}
			for p := range parts {
				if err := chantest.Check(t.Context(), f.Source(p, 0), name(p), c.records(p)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Partitions of a few records are read with those near them, large ones alone.
func TestTinyPartitionsAreReadWithOthers(t *testing.T) {
	for records, want := range map[int]error{5: nil, 1000: channel.ErrDamaged} {
		path := written(t, 4, records, Options{})
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := chantest.Check(t.Context(), f.Source(0, 0), name(0), records); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, headerBytes); err != nil {
			t.Fatal(err)
		}
		for p := 1; p < 4; p++ {
			if n, err := chantest.Prefix(t.Context(), f.Source(p, 0), name(p)); !errors.Is(err, want) || want == nil && n != records {
				t.Errorf("partition %d of %d records: %d, %v", p, records, n, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A damaged line is an error of its partition alone, whichever partition is looked up first.
func TestDamagedIndexLineConcernsOnePartition(t *testing.T) {
	const parts, bad = 10, 4
	path := written(t, parts, 5*parts, Options{})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-footerBytes-(parts-bad)*entryBytes+24]++ // the number of its runs
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for first := range parts {
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range parts {
			p := (first + i) % parts
			if _, err := f.Layout(t.Context(), p); (err != nil) != (p == bad) {
				t.Errorf("from %d on: partition %d: %v", first, p, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

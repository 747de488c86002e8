package merged_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/engine/channel/file"
	"github.com/hamadryad/hamadryad/engine/channel/merged"
)

// stored writes a stored file with so many records for each partition, and opens it.
func stored(t testing.TB, path string, codec block.Codec, budget int64, records []int, size int) *file.File {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	w, err := file.Create(path, len(records), file.Options{Codec: codec, Budget: budget})
	must(err)
	for round := range slices.Max(append(records, 0)) { // partitions take turns
		for p, n := range records {
			if round < n {
				must(w.Write(t.Context(), p, fmt.Appendf(nil, "%s %d %d %s", filepath.Base(path), p, round, strings.Repeat("x", size))))
			}
		}
	}
	must(w.Close(t.Context()))
	f, err := file.Open(path)
	must(err)
	t.Cleanup(func() { f.Close() })
	return f
}

// recordsOf reads the blocks of a stored or merged file.
func recordsOf(blocks []byte) (records []string, err error) {
	r := block.NewReader(bytes.NewReader(blocks))
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		for x := range b.All() {
			records = append(records, string(x))
		}
	}
}

// partitionOf reads a partition of a stored file.
func partitionOf(t testing.TB, f *file.File, partition int) (records []string) {
	t.Helper()
	s := f.Source(partition, 0)
	defer s.Close()
	for {
		b, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return records
		}
		if err != nil {
			t.Fatal(err)
		}
		for x := range b.All() {
			records = append(records, string(x))
		}
	}
}

// A merged file has each partition of each of its members as the stored file has it, whatever their
// number, their codec, and the memory that their writers had. Many partitions are empty.
func TestAMergedFileHasWhatItsMembersHave(t *testing.T) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		partitions := rapid.IntRange(1, 200).Draw(rt, "partitions")
		seed := rapid.Uint64().Draw(rt, "seed")
		random := rand.New(rand.NewPCG(seed, 1))
		codec := rapid.SampledFrom([]block.Codec{block.None, block.LZ4, block.ZSTD}).Draw(rt, "codec")
		var inputs []merged.Input
		for i := range rapid.IntRange(1, 20).Draw(rt, "members") {
			records := make([]int, partitions)
			for p := range records {
				records[p] = max(random.IntN(6)-3, 0)
			}
			f := stored(t, filepath.Join(dir, fmt.Sprint(n, "-", i)), codec, int64(rapid.SampledFrom([]int{1, 64 << 10, 1 << 20}).Draw(rt, "budget")), records, random.IntN(300))
			inputs = append(inputs, merged.Input{Member: merged.Member{From: uint32(3 * i), Attempt: uint64(100 - i)}, File: f})
		}
		path := filepath.Join(dir, fmt.Sprint(n))
		if _, err := merged.Write(t.Context(), path, inputs, -1); err != nil {
			rt.Fatal(err)
		}
		f, err := merged.Open(path)
		if err != nil {
			rt.Fatal(err)
		}
		for i, in := range inputs {
			if f.Members()[i] != in.Member {
				rt.Fatalf("member %d is %v, want %v", i, f.Members()[i], in.Member)
			}
		}
		for p := range partitions {
			s, err := f.Section(p, nil)
			if err != nil {
				rt.Fatal(err)
			}
			for i, in := range inputs {
				blocks, count := s.Segment(i)
				got, err := recordsOf(blocks)
				if want := partitionOf(t, in.File, p); err != nil || !slices.Equal(got, want) || int(count) != len(want) {
					rt.Fatalf("partition %d of member %d has %d records, said to be %d (%v); want %d", p, i, len(got), count, err, len(want))
				}
			}
		}
		for _, p := range []int{-1, partitions} {
			if _, err := f.Section(p, nil); err == nil {
				rt.Fatalf("there is a partition %d of %d", p, partitions)
			}
		}
	})
}

// A partition that is too large for memory is left out, and those beside it are there.
func TestALargePartitionIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	records := make([]int, 64)
	for p := range records {
		records[p] = 1
	}
	records[7] = 3000
	f := stored(t, filepath.Join(dir, "a"), block.None, 0, records, 1000)
	path := filepath.Join(dir, "merged")
	if _, err := merged.Write(t.Context(), path, []merged.Input{{File: f}}, -1); err != nil {
		t.Fatal(err)
	}
	m, err := merged.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for p := range records {
		s, err := m.Section(p, nil)
		if p == 7 {
			if !errors.Is(err, merged.ErrLeftOut) {
				t.Errorf("the large partition: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		blocks, _ := s.Segment(0)
		if got, err := recordsOf(blocks); err != nil || !slices.Equal(got, partitionOf(t, f, p)) {
			t.Errorf("partition %d has %d records (%v)", p, len(got), err)
		}
	}
}

// Whatever byte of a merged file is wrong, no wrong record comes out of it, and a file that was cut
// short is none.
func TestDamageIsSeen(t *testing.T) {
	dir := t.TempDir()
	var inputs []merged.Input
	for i := range 3 {
		f := stored(t, filepath.Join(dir, fmt.Sprint(i)), block.LZ4, 0, []int{1, 0, 2, 1}, 30)
		inputs = append(inputs, merged.Input{Member: merged.Member{From: uint32(i), Attempt: uint64(i)}, File: f})
	}
	path := filepath.Join(dir, "merged")
	if _, err := merged.Write(t.Context(), path, inputs, -1); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(dir, "damaged")
	for at := range whole {
		for _, b := range [][]byte{whole[:at], slices.Concat(whole[:at], []byte{whole[at] ^ 0x41}, whole[at+1:])} {
			if err := os.WriteFile(damaged, b, 0o600); err != nil {
				t.Fatal(err)
			}
			m, err := merged.Open(damaged)
			if err != nil {
				if !errors.Is(err, channel.ErrDamaged) && !errors.Is(err, channel.ErrVersion) {
					t.Fatalf("byte %d: %v", at, err)
				}
				continue
			}
			if len(b) < len(whole) {
				t.Fatalf("a file of %d bytes of %d was taken", len(b), len(whole))
			}
			for p := range 4 {
				s, err := m.Section(p, nil)
				if err != nil {
					continue
				}
				for i, in := range inputs {
					blocks, count := s.Segment(i)
					got, err := recordsOf(blocks)
					if want := partitionOf(t, in.File, p); err == nil && (!slices.Equal(got, want) || int(count) != len(want)) {
						t.Fatalf("byte %d: partition %d of member %d has %q, %d, want %q", at, p, i, got, count, want)
					}
				}
			}
		}
	}
	if _, err := merged.Open(filepath.Join(dir, "none")); !errors.Is(err, channel.ErrLost) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Nothing stays of a merged file that could not be written whole.
func TestWhatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	a := stored(t, filepath.Join(dir, "a"), block.None, 0, []int{1, 2}, 1)
	b := stored(t, filepath.Join(dir, "b"), block.None, 0, []int{1, 2, 3}, 1)
	ended, end := context.WithCancel(t.Context())
	end()
	path := filepath.Join(dir, "merged")
	for what, write := range map[string]func() (int64, error){
		"none": func() (int64, error) { return merged.Write(t.Context(), path, nil, -1) },
		"unequal": func() (int64, error) {
			return merged.Write(t.Context(), path, []merged.Input{{File: a}, {File: b}}, -1)
		},
		"too late": func() (int64, error) { return merged.Write(ended, path, []merged.Input{{File: a}}, -1) },
		"no such folder": func() (int64, error) {
			return merged.Write(t.Context(), filepath.Join(path, "x"), []merged.Input{{File: a}}, -1)
		},
	} {
		if _, err := write(); err == nil {
			t.Errorf("%s: it was written", what)
		}
	}
	if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

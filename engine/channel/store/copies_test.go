package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/engine/channel/file"
	"github.com/hamadryad/hamadryad/engine/channel/internal/chantest"
	"github.com/hamadryad/hamadryad/engine/channel/merged"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// merge makes a merged file of attempts of a shop, of which each has its own number as its node's.
func (s *shop) merge(t testing.TB, number int, attempts ...int) (path string) {
	t.Helper()
	var inputs []merged.Input
	for _, a := range attempts {
		f, err := file.Open(s.path(a))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		inputs = append(inputs, merged.Input{Member: merged.Member{From: uint32(a), Attempt: uint64(a)}, File: f})
	}
	path = MergedPath(s.prefix(s.dir, 5), number)
	if _, err := merged.Write(t.Context(), path, inputs, -1); err != nil {
		t.Fatal(err)
	}
	return path
}

func (s *shop) prefix(folder string, connection int) string {
	return filepath.Join(folder, fmt.Sprint("merged", connection))
}

// wantCopy is what a reader wants of an attempt on its own machine.
func (s *shop) wantCopy(c *Copies, attempt, partition int) Want {
	w := s.want(attempt, partition)
	w.Path, w.Copies, w.Folder, w.Connection = s.path(attempt), c, s.dir, 5
	return w
}

// copyOf is the copy of a partition of an attempt.
func (s *shop) copyOf(attempt, partition int) CopyOf {
	return CopyOf{Folder: s.dir, Connection: 5, From: attempt, Attempt: scheduler.AttemptID(attempt), Partition: partition}
}

// A reader gets what merged files have without the stored files, and reads those of which there is no
// copy, or one of another attempt. Merged files that come later are found by the next reader.
func TestMergedCopiesAreRead(t *testing.T) {
	s := open(t)
	for a := range 7 {
		s.put(t, a, 3, 10*a, file.Options{Codec: block.LZ4})
	}
	f := fetcher(t, Options{})
	check := func(c *Copies, gone ...int) {
		t.Helper()
		for p := range 3 {
			for a := range 7 {
				err := chantest.Check(t.Context(), f.Source(s.wantCopy(c, a, p)), label(a, p), 10*a)
				if wrong := err != nil; wrong != slices.Contains(gone, a) || wrong && !errors.Is(err, channel.ErrLost) {
					t.Errorf("partition %d of attempt %d: %v", p, a, err)
				}
			}
		}
	}
	first := f.Copies(s.prefix)
	first.set(copiesOf{s.dir, 5}) // it looks for merged files
	s.merge(t, 0, 0, 1, 2)
	s.merge(t, 1, 4, 3)
	for _, a := range []int{1, 3, 5} {
		if err := os.Remove(s.path(a)); err != nil {
			t.Fatal(err)
		}
	}
	check(first, 1, 3, 5)
	check(f.Copies(s.prefix), 5)
	s.put(t, 5, 3, 50, file.Options{})
	s.merge(t, 2, 5, 6)
	if err := os.Remove(s.path(5)); err != nil {
		t.Fatal(err)
	}
	check(f.Copies(s.prefix))

	f = fetcher(t, Options{})
	w := s.wantCopy(f.Copies(s.prefix), 4, 0)
	w.Attempt = 44 // the node's output was made again
	if err := chantest.Check(t.Context(), f.Source(w), label(4, 0), 40); err != nil {
		t.Errorf("another attempt: %v", err)
	}
	w.Path = s.path(1)
	if err := chantest.Check(t.Context(), f.Source(w), label(4, 0), 40); !errors.Is(err, channel.ErrLost) {
		t.Errorf("another attempt whose file is gone: %v", err)
	}
}

// eachDamage merges the files of two attempts, and damages one byte of the merged file after another.
// source then has to give the records of both.
func (s *shop) eachDamage(t *testing.T, changed func(), source func(attempt int) job.Source) {
	t.Helper()
	s.put(t, 1, 1, 20, file.Options{})
	s.put(t, 2, 1, 20, file.Options{})
	path := s.merge(t, 0, 1, 2)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(whole); at += 7 {
		b := slices.Clone(whole)
		b[at] ^= 1
		if err := errors.Join(os.Remove(path), os.WriteFile(path, b, 0o600)); err != nil {
			t.Fatal(err)
		}
		changed()
		for a := 1; a <= 2; a++ {
			if err := chantest.Check(t.Context(), source(a), label(a, 0), 20); err != nil {
				t.Fatalf("byte %d of %d, attempt %d: %v", at, len(whole), a, err)
			}
		}
	}
}

// A damaged copy is not read, but the stored file.
func TestADamagedCopyIsNotRead(t *testing.T) {
	s := open(t)
	f := fetcher(t, Options{})
	var c *Copies
	s.eachDamage(t, func() { c = f.Copies(s.prefix) }, func(a int) job.Source { return f.Source(s.wantCopy(c, a, 0)) })
}

// The leading ones of which there are copies are read together. One is enough that has none.
func TestSegments(t *testing.T) {
	s := open(t)
	for a := range 4 {
		s.put(t, a, 2, 5, file.Options{})
	}
	s.merge(t, 0, 0, 1, 3)
	c := fetcher(t, Options{}).Copies(s.prefix)
	var wants []CopyOf
	for _, a := range []int{3, 0, 2, 1} {
		wants = append(wants, s.copyOf(a, 1))
	}
	list := c.Segments(nil, wants)
	if len(list) != 2 {
		t.Fatalf("%d segments, want 2", len(list))
	}
	var r segmentReader
	for i, a := range []int{3, 0} {
		batches, err := r.All(list[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := chantest.Check(t.Context(), &batchList{batches}, label(a, 1), 5); err != nil {
			t.Error(err)
		}
	}
	if _, err := r.All(Segment{blocks: list[0].blocks[:len(list[0].blocks)-1], records: 5}); !errors.Is(err, channel.ErrDamaged) {
		t.Errorf("a segment that was cut short: %v", err)
	}
	if _, err := r.All(Segment{blocks: list[0].blocks, records: 6}); !errors.Is(err, channel.ErrDamaged) {
		t.Errorf("a segment without its last record: %v", err)
	}
}

type batchList struct{ all []*job.Batch }

func (l *batchList) Next(_ context.Context) (*job.Batch, error) {
	if len(l.all) == 0 {
		return nil, io.EOF
	}
	b := l.all[0]
	l.all = l.all[1:]
	return b, nil
}

// A reader has no more sections in memory than the bound. It reads the stored files of the others.
func TestSectionsInMemoryAreBounded(t *testing.T) {
	s := open(t)
	const files = 3 * sectionsBytes / merged.SectionMax
	for a := range files {
		w, err := file.Create(s.path(a), 1, file.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Write(t.Context(), 0, []byte(strings.Repeat("x", merged.SectionMax*2/3))), w.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		s.merge(t, a, a)
	}
	c := fetcher(t, Options{}).Copies(s.prefix)
	for a := range files { // two nodes of each file would keep it in memory
		key := sectionOf{c.set(copiesOf{s.dir, 5}).files[a], 0}
		if h := c.section(key); h != nil {
			h.left++
		}
	}
	if c.bytes < sectionsBytes || c.bytes > sectionsBytes+merged.SectionMax {
		t.Errorf("%d bytes in memory, want about %d", c.bytes, sectionsBytes)
	}
	f := c.fetcher
	for a := range files {
		src := f.Source(s.wantCopy(c, a, 0))
		if b, err := src.Next(t.Context()); err != nil || b.Len() != 1 {
			t.Errorf("attempt %d: %v", a, err)
		}
		src.Close()
	}
}

// A launcher that begins anew makes other merged files of the same names and sizes. A reader that knows
// the earlier ones reads nothing of them, and the next reader finds the new ones.
func TestMergedFilesOfAnotherIncarnation(t *testing.T) {
	s := open(t)
	for a := 1; a <= 4; a++ { // no attempt has the number 0
		s.put(t, a, 2, 5, file.Options{})
	}
	f := fetcher(t, Options{})
	path := s.merge(t, 0, 1, 2)
	c := f.Copies(s.prefix)
	first, second := s.copyOf(1, 0), s.copyOf(3, 1)
	if len(c.Segments(nil, []CopyOf{first})) != 1 {
		t.Fatal("no copy is found")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s.merge(t, 0, 3, 4)
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Minute)); err != nil { // the test is quicker than the clock of files
		t.Fatal(err)
	}
	first.Partition = 1
	if n := len(c.Segments(nil, []CopyOf{first})); n > 0 {
		t.Error("something is read of a file that is another's")
	}
	if n := len(c.Segments(nil, []CopyOf{second})); n > 0 {
		t.Error("an attempt has looked already, and finds more")
	}
	next := f.Copies(s.prefix)
	list := next.Segments(nil, []CopyOf{second, first})
	if len(list) != 1 {
		t.Fatalf("%d copies are found, want 1", len(list))
	}
	var r segmentReader
	batches, err := r.All(list[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := chantest.Check(t.Context(), &batchList{batches}, label(3, 1), 5); err != nil {
		t.Error(err)
	}
}

// The memory of sections that were read whole is another attempt's after Close, but not that of a
// section that is read at its program's pace.
func TestMemoryOfSections(t *testing.T) {
	s := open(t)
	for a := 1; a <= 2; a++ {
		s.put(t, a, 4, 50, file.Options{})
	}
	s.merge(t, 0, 1, 2)
	f := fetcher(t, Options{})
	blocks := func(c *Copies, partition int, one bool) (all [][]byte) {
		for a := 1; a <= 2; a++ {
			w := s.wantCopy(c, a, partition)
			if one {
				got, found := c.segment(&w)
				if !found {
					t.Fatal("no copy is found")
				}
				all = append(all, got.blocks)
				continue
			}
			all = append(all, c.Segments(nil, []CopyOf{s.copyOf(a, partition)})[0].blocks)
		}
		return all
	}
	first := f.Copies(s.prefix)
	slow := blocks(first, 0, true)
	before := bytes.Join(slow, nil)
	blocks(first, 1, false)
	if len(first.used) != 1 {
		t.Errorf("the memory of %d sections is for others, want that of 1", len(first.used))
	}
	first.Close()
	for p := 1; p < 4; p++ {
		next := f.Copies(s.prefix)
		blocks(next, p, false)
		next.Close()
	}
	if !bytes.Equal(bytes.Join(slow, nil), before) {
		t.Error("blocks changed while they were read")
	}
}

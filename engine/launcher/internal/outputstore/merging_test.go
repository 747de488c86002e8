package outputstore

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel/file"
	"github.com/hamadryad/hamadryad/engine/channel/merged"
	"github.com/hamadryad/hamadryad/engine/channel/store"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// keep has an attempt store the file of a node, with a record of so many bytes in each partition.
func keep(t *testing.T, s *Store, job, attempt uint64, from uint32, partitions, size int) {
	t.Helper()
	folder := s.Folder(job, attempt)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := file.Create(filepath.Join(folder, worker.StoredName(2, from)), partitions, file.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for p := range partitions {
		if err := w.Write(t.Context(), p, []byte(strings.Repeat("x", size))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	info := w.Info()
	s.AddOutputs(job, attempt, "token", os.Getuid(), []*wire.StoredOutput{{Connection: 2, From: from, Bytes: info.Bytes, PartitionBytes: info.PartitionBytes}})
}

// membersOf are the members of a job's merged files.
func membersOf(t *testing.T, s *Store, job uint64) (all []merged.Member, files int) {
	t.Helper()
	for ; ; files++ {
		f, err := merged.Open(store.MergedPath(worker.MergedPrefix(s.folder, job, 2), files))
		if err != nil {
			return all, files
		}
		all = append(all, f.Members()...)
	}
}

func untilMerged(t *testing.T, s *Store, what string, done func() bool) {
	t.Helper()
	proctest.Until(t, time.Minute, what, func() bool {
		s.merging.mu.Lock()
		idle := !s.merging.running
		s.merging.mu.Unlock()
		return idle && done()
	})
}

// Files with many small partitions are copied when a reader starts, as far as they are there, and
// further ones when the next reader starts. They go with their job.
func TestSmallPartitionsAreMerged(t *testing.T) {
	s := New(t.TempDir(), slog.New(slog.DiscardHandler))
	for i := range mergeMembersMin + 2 {
		keep(t, s, 1, uint64(10+i), uint32(i), mergePartitionsMin, 10)
	}
	keep(t, s, 1, 50, 50, mergePartitionsMin-1, 10)                // few partitions
	keep(t, s, 1, 51, 51, mergePartitionsMin, mergePartitionBytes) // large ones
	keep(t, s, 2, 60, 0, mergePartitionsMin, 10)                   // another job
	s.Drop(11)
	proctest.Until(t, time.Minute, "the dropped file is gone", func() bool {
		_, err := os.Stat(s.Folder(1, 11))
		return errors.Is(err, os.ErrNotExist)
	})
	s.MergeFor(1, []uint32{1})
	s.MergeFor(2, []uint32{2})
	if _, files := membersOf(t, s, 1); files > 0 {
		t.Error("there are merged files before a reader starts")
	}
	s.MergeFor(1, []uint32{2})
	untilMerged(t, s, "a merged file is there", func() bool { _, files := membersOf(t, s, 1); return files == 1 })
	if all, _ := membersOf(t, s, 1); len(all) != mergeMembersMin+1 || all[0] != (merged.Member{From: 0, Attempt: 10}) || all[1].Attempt != 12 {
		t.Errorf("it has %v", all)
	}
	for i := range mergeMembersMin {
		keep(t, s, 1, uint64(30+i), uint32(30+i), mergePartitionsMin, 10)
	}
	s.MergeFor(1, []uint32{2, 3})
	untilMerged(t, s, "a second one is there", func() bool { _, files := membersOf(t, s, 1); return files == 2 })
	if _, files := membersOf(t, s, 2); files > 0 {
		t.Error("one file alone was merged")
	}

	if s.DropJob(1); !s.RemoveJob(1) {
		t.Error("the job's files stay")
	}
	keep(t, s, 1, 70, 70, mergePartitionsMin, 10) // it ended as the job was dropped
	if s.merging.count != 1 || len(s.merging.written) != 0 {
		t.Errorf("after the drop %d files wait, and merged files of %d connections are known", s.merging.count, len(s.merging.written))
	}
	if _, err := os.Stat(worker.MergedFolder(s.folder, 1)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the merged files stay: %v", err)
	}
	s.Clear()
	if err := s.Empty(); err != nil || s.merging.count > 0 {
		t.Errorf("after it was emptied %d files wait (%v)", s.merging.count, err)
	}
}

// Files that come while others are copied wait for the next merged file.
func TestFilesOfOneMergedFile(t *testing.T) {
	s := New(t.TempDir(), slog.New(slog.DiscardHandler))
	s.merging.running = true // the copying is slow
	stored := []*wire.StoredOutput{{Bytes: 1, PartitionBytes: make([]int64, mergePartitionsMin)}}
	for i := range 2*merged.MembersMax + mergeMembersMin {
		stored[0].From = uint32(i)
		s.mergeOutputs(1, uint64(1+i), 0, stored)
	}
	stored[0].Bytes, stored[0].PartitionBytes = mergeBytes, make([]int64, mergeBytes/mergePartitionBytes)
	for i := range mergeMembersMin + 1 {
		s.mergeOutputs(2, uint64(1+i), 0, stored) // each fills a merged file
	}
	next := func(want int) {
		t.Helper()
		if _, of, list := s.merging.nextMerge(); len(list) != want {
			t.Errorf("a merged file of %+v is to have %d members, want %d", of, len(list), want)
		}
		s.merging.running = true
	}
	next(merged.MembersMax)
	next(merged.MembersMax)
	next(mergeMembersMin)
	next(0)
	s.MergeFor(1, []uint32{0})
	next(mergeMembersMin)
	next(0)
	s.MergeFor(2, []uint32{0})
	next(0)
	if s.merging.count != 1 {
		t.Errorf("%d files wait, want 1", s.merging.count)
	}
}

// Files are copied as soon as they fill a merged file, before a reader starts.
func TestMergedFilesAreFilled(t *testing.T) {
	s := New(t.TempDir(), slog.New(slog.DiscardHandler))
	for i := range merged.MembersMax + 3 {
		keep(t, s, 1, uint64(1+i), uint32(i), mergePartitionsMin, 1)
	}
	untilMerged(t, s, "a merged file is there", func() bool { all, _ := membersOf(t, s, 1); return len(all) == merged.MembersMax })
	if s.merging.count != 3 {
		t.Errorf("%d files wait, want 3", s.merging.count)
	}
}

// Nothing is copied of an incarnation that is over, or of a dropped job.
func TestWhatIsOverIsNotMerged(t *testing.T) {
	for what, ends := range map[string]func(*Store){"incarnation": (*Store).Clear, "job": func(s *Store) { s.DropJob(1) }} {
		s := New(t.TempDir(), slog.New(slog.DiscardHandler))
		var list []mergeable
		for i := range mergeMembersMin {
			keep(t, s, 1, uint64(1+i), uint32(i), mergePartitionsMin, 1)
			list = append(list, mergeable{merged.Member{From: uint32(i), Attempt: uint64(1 + i)}, 1})
		}
		ctx := s.merging.ctx
		ends(s)
		s.mergeFiles(ctx, mergeOf{mergedFrom{1, 2}, os.Getuid(), mergePartitionsMin}, list)
		if _, files := membersOf(t, s, 1); files > 0 {
			t.Errorf("%s: it was merged", what)
		}
	}
}

// The files that wait to be copied are bounded.
func TestFilesThatWaitAreBounded(t *testing.T) {
	s := New(t.TempDir(), slog.New(slog.DiscardHandler))
	stored := []*wire.StoredOutput{{PartitionBytes: make([]int64, mergePartitionsMin)}}
	for i := range mergesWaitingMax + 10 {
		stored[0].Connection = uint32(i)
		s.mergeOutputs(1, uint64(i), 0, stored)
	}
	if s.merging.count != mergesWaitingMax {
		t.Errorf("%d wait, want %d", s.merging.count, mergesWaitingMax)
	}
}

// The data server learns of merged files when they are there, and of no others.
func TestMergedForTheServer(t *testing.T) {
	s := New(t.TempDir(), slog.New(slog.DiscardHandler))
	key := func(name string) store.Key { return store.Key{Job: 1, Attempt: 1, Channel: name} }
	keep(t, s, 1, 1, 0, mergePartitionsMin, 10)
	if _, found := s.Merged(key("c2.n0")); found {
		t.Error("there is a merged file before any")
	}
	for a := range uint64(mergeMembersMin) {
		keep(t, s, 1, 2+a, uint32(1+a), mergePartitionsMin, 10)
	}
	s.MergeFor(1, []uint32{2})
	untilMerged(t, s, "the files", func() bool { _, found := s.Merged(key("c2.n0")); return found })
	first, _ := s.Merged(key("c2.n7"))
	if first.From != 7 || first.Connection != 2 || s.MergedPrefix(1, 2) != worker.MergedPrefix(s.folder, 1, 2) {
		t.Errorf("it is said to be at %+v, %s", first, s.MergedPrefix(1, 2))
	}
	for _, name := range []string{"c3.n0", "c02.n0", "c2.n-1", "c2.n", "2.n0", "c2.n99999999999", ""} {
		if at, found := s.Merged(key(name)); found {
			t.Errorf("%q is said to be at %+v", name, at)
		}
	}
	s.merging.clear()
	s.merging.wrote(mergedFrom{1, 2})
	if again, _ := s.Merged(key("c2.n7")); again.Version == first.Version {
		t.Error("other merged files have the same version")
	}
}

package store

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel/file"
	"github.com/hamadryad/hamadryad/engine/channel/internal/chantest"
)

// local is a partition of a file that is on this machine.
func (s *shop) local(attempt, partition int) Want {
	w := s.want(attempt, partition)
	w.Path = s.path(attempt)
	return w
}

// readLocal reads a partition to its end.
func (s *shop) readLocal(t *testing.T, f *Fetcher, attempt, partition, records int) {
	t.Helper()
	if err := chantest.Check(t.Context(), f.Source(s.local(attempt, partition)), label(attempt, partition), records); err != nil {
		t.Fatal(err)
	}
}

// A second reader reads the file that the first has opened, even when its name is gone. After a
// while without readers the file is closed.
func TestAFileIsOpenedOnceForManyReaders(t *testing.T) {
	s := open(t)
	s.put(t, 1, 2, 100, file.Options{})
	synctest.Test(t, func(t *testing.T) {
		f := NewFetcher(Options{})
		defer f.Close()
		s.readLocal(t, f, 1, 0, 100)
		if err := os.Remove(s.path(1)); err != nil {
			t.Fatal(err)
		}
		s.readLocal(t, f, 1, 1, 100)
		time.Sleep(openFilesIdle / 2) // virtual time
		s.readLocal(t, f, 1, 1, 100)
		time.Sleep(openFilesIdle) // virtual time
		synctest.Wait()
		if err := chantest.Check(t.Context(), f.Source(s.local(1, 1)), label(1, 1), 100); err == nil {
			t.Error("a removed file was still open after its last reader")
		}
	})
}

// Files without readers are closed beyond the bound, the longest unused first. Files with readers
// stay, however many there are.
func TestOpenFilesAreBounded(t *testing.T) {
	s := open(t)
	for a := range 5 {
		s.put(t, a, 2, 100, file.Options{})
	}
	f := fetcher(t, Options{})
	f.files.most = 3
	held := f.Source(s.local(0, 0))
	if _, err := held.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	for a := 1; a < 5; a++ {
		s.readLocal(t, f, a, 0, 100)
	}
	for a := range 5 {
		if got, want := f.files.files[s.path(a)] != nil, a != 1; got != want {
			t.Errorf("file %d is open: %v, want %v", a, got, want)
		}
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if f.files.files[s.path(2)] != nil || len(f.files.files) != 3 {
		t.Errorf("%d files are open after the release, want 3 without the longest unused", len(f.files.files))
	}
}

// A reader that found damage does not leave the damaged file to the next one.
func TestADamagedFileIsOpenedAgain(t *testing.T) {
	s := open(t)
	s.put(t, 1, 2, 3000, file.Options{})
	whole, err := os.ReadFile(s.path(1))
	if err != nil {
		t.Fatal(err)
	}
	flip(t, s.path(1), 40)
	f := fetcher(t, Options{})
	if err := chantest.Check(t.Context(), f.Source(s.local(1, 0)), label(1, 0), 3000); err == nil {
		t.Fatal("damage was not found")
	}
	if err := os.WriteFile(s.path(1)+".new", whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.path(1)+".new", s.path(1)); err != nil {
		t.Fatal(err)
	}
	s.readLocal(t, f, 1, 0, 3000)
}

// The Fetcher's end closes the files, also those whose readers end later.
func TestAFetcherClosesItsFiles(t *testing.T) {
	s := open(t)
	s.put(t, 1, 2, 3000, file.Options{})
	s.put(t, 2, 2, 100, file.Options{})
	f := NewFetcher(Options{})
	held := f.Source(s.local(1, 0))
	if _, err := held.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.readLocal(t, f, 2, 0, 100)
	open := f.files.files[s.path(1)].Local()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if len(f.files.files) != 0 || f.files.count != 0 {
		t.Error("files are left after Close")
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open.Stat(); err == nil {
		t.Error("the file of the last reader is still open")
	}
}

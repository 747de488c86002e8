package outputstore_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel/store"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/outputstore"
	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// on is a store in a test's folder.
type on struct {
	*outputstore.Store
	t      *testing.T
	folder string
}

func start(t *testing.T) *on {
	folder := t.TempDir()
	return &on{outputstore.New(folder, slog.New(slog.DiscardHandler)), t, folder}
}

// store has an attempt store a file.
func (s *on) store(job, attempt uint64) {
	s.t.Helper()
	folder := s.Folder(job, attempt)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "c0.n0"), nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.AddOutputs(job, attempt, fmt.Sprint("token ", attempt), os.Getuid(), nil)
}

// serves lists the files of a job's attempts that readers get.
func (s *on) serves(job uint64, attempts ...uint64) (served []uint64) {
	s.t.Helper()
	for _, a := range attempts {
		key := store.Key{Job: scheduler.JobID(job), Attempt: scheduler.AttemptID(a), Channel: "c0.n0"}
		if got, ok := s.Lookup(key); ok && got.Token == fmt.Sprint("token ", a) {
			served = append(served, a)
		}
	}
	return served
}

func (s *on) gone(path string) bool {
	_, err := os.Stat(path)
	return os.IsNotExist(err)
}

// An attempt's stored file is served to readers of its job, by its name, until it is dropped.
func TestServesUntilDropped(t *testing.T) {
	s := start(t)
	s.store(1, 10)
	s.store(1, 11)
	s.store(2, 20)
	if got := s.serves(1, 9, 10, 11, 20); !slices.Equal(got, []uint64{10, 11}) {
		t.Errorf("it serves %v of job 1", got)
	}
	if all := s.Stored(); len(all) != 3 || all[0].Attempt != 10 || all[2].Job != 2 {
		t.Errorf("there is %v", all)
	}
	s.Drop(10)
	if got := s.serves(1, 10, 11); !slices.Equal(got, []uint64{11}) {
		t.Errorf("it serves %v of job 1", got)
	}
	proctest.Until(t, time.Minute, "the files are gone", func() bool { return s.gone(s.Folder(1, 10)) })
	s.Drop(11)
	proctest.Until(t, time.Minute, "so is the job's folder", func() bool { return s.gone(filepath.Dir(s.Folder(1, 11))) })
	if _, ok := s.Lookup(store.Key{Job: 2, Attempt: 20, Channel: "../a20/c0.n0"}); ok {
		t.Error("a name leads out of the folder")
	}
}

// A dropped job is not served, and is remembered until Clear. Its removal is reported once it is
// complete, and again for each repeated drop.
func TestDropJob(t *testing.T) {
	s := start(t)
	s.store(1, 10)
	s.store(2, 20)
	if asked, _ := s.DropJob(1); asked || len(s.serves(1, 10)) > 0 || !s.Dropped(1) || s.Dropped(2) {
		t.Error("a job that was dropped is served")
	}
	if asked, gone := s.DropJob(1); !asked || gone {
		t.Errorf("asked again: %t, gone: %t", asked, gone)
	}
	if jobs := s.Jobs(); len(jobs) != 2 {
		t.Errorf("there is something of jobs %v", jobs)
	}
	if !s.RemoveJob(1) || !s.gone(filepath.Dir(s.Folder(1, 10))) {
		t.Error("it is not gone")
	}
	if asked, gone := s.DropJob(1); !asked || !gone || len(s.Jobs()) != 1 {
		t.Errorf("asked again: %t, gone: %t, jobs %v", asked, gone, s.Jobs())
	}
	s.Clear()
	if s.Dropped(1) || s.RemoveJob(1) || len(s.serves(2, 20)) > 0 {
		t.Error("another life remembers")
	}
	if err := s.Empty(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(s.folder); err != nil || len(entries) > 0 {
		t.Errorf("it has %v (%v)", entries, err)
	}
}

// Launchers of one machine that share a cache find each other's stores, until one leaves.
func TestNeighbours(t *testing.T) {
	cache := t.TempDir()
	a, err := outputstore.NewNeighbours(cache, "10.0.0.1:2", "/a")
	if err != nil {
		t.Fatal(err)
	}
	b, err := outputstore.NewNeighbours(cache, "10.0.0.1:1", "/b")
	if err != nil {
		t.Fatal(err)
	}
	proctest.Until(t, time.Minute, "both are found, in order", func() bool {
		all := a.List()
		return len(all) == 2 && all[0].Folder == "/b" && all[1].Folder == "/a"
	})
	b.Leave()
	proctest.Until(t, time.Minute, "one has left", func() bool { return len(a.List()) == 1 })
}

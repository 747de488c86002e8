// Package outputstore keeps the channel files of attempts that finished, knows which readers they
// are served to, and removes them when their job is over.
//
//	s := outputstore.New(folder, log)
//	s.Put(job, attempt, token, owner)
//	stored, ok := s.Lookup(key)
//	s.Drop(attempt)
//
// # Invariants
//
// Nothing of a dropped job is served.
package outputstore

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/hamadryad/hamadryad/engine/channel/store"
	"github.com/hamadryad/hamadryad/engine/isolate/safepath"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker"
)

// droppedMax bounds how many jobs are remembered as dropped. The manager starts
// nothing of a dropped job unless its event log lost the job's end.
const droppedMax = 10_000

// Store is safe for concurrent use. Only functions that say so wait for the disk.
type Store struct {
	folder string // of the store
	log    *slog.Logger

	folders sync.Mutex     // held over the disk, by those who wait for it anyway
	kept    map[uint64]int // by job: workers that can't make its folder themselves. Guarded by folders

	mu      sync.Mutex
	stored  map[uint64]outputs // by attempt; none of a job that was dropped
	dropped map[uint64]bool    // jobs that are over; true: nothing is left of them. At most droppedMax
}

// outputs are the stored channel files of a finished attempt.
type outputs struct {
	job   uint64
	token string // whoever reads them has to know it
	owner int    // id of the user whose files they are
}

// New is a store that has nothing.
func New(folder string, log *slog.Logger) *Store {
	return &Store{folder: folder, log: log, kept: map[uint64]int{}, stored: map[uint64]outputs{}, dropped: map[uint64]bool{}}
}

// Folder is where an attempt's files lie.
func (s *Store) Folder(job, attempt uint64) string {
	return worker.AttemptFolder(s.folder, job, attempt)
}

// jobName names the folder of all that a job's attempts stored, below the store's.
func jobName(job uint64) string { return "job-" + strconv.FormatUint(job, 10) }

// jobFolder is that folder.
func (s *Store) jobFolder(job uint64) string { return filepath.Join(s.folder, jobName(job)) }

// Prepare makes the folder of a job's files, for a worker of a user who can't make it
// himself, and keeps it until Release. It returns the folder; "" for a job that was
// dropped, which stores nothing any more, and needs no Release. It waits for the disk.
func (s *Store) Prepare(job uint64, uid, gid int) (string, error) {
	s.folders.Lock()
	defer s.folders.Unlock()
	if s.Dropped(job) {
		return "", nil
	}
	path := s.jobFolder(job)
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err = errors.Join(err, os.Lchown(path, uid, gid)); err != nil {
		return "", fmt.Errorf("folder for a job's stored files: %w", err)
	}
	s.kept[job]++
	return path, nil
}

// Release undoes one Prepare. With the last one the folder goes, unless there is something
// in it. It waits for the disk.
func (s *Store) Release(job uint64) {
	s.folders.Lock()
	defer s.folders.Unlock()
	if s.kept[job]--; s.kept[job] <= 0 {
		delete(s.kept, job)
		_ = os.Remove(s.jobFolder(job)) // likewise
	}
}

// AddOutputs says that an attempt's files are complete, and who owns them. From now on they are
// served to those that know the token.
func (s *Store) AddOutputs(job, attempt uint64, token string, owner int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored[attempt] = outputs{job, token, owner}
}

// Check reports a file of an attempt that would not be served, because it is something
// else than a plain file of its owner. It waits for the disk.
func (s *Store) Check(job, attempt uint64, channel string, owner int) error {
	f, err := s.open(job, attempt, channel, owner)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it lies in the job's storage, or is lost: its readers say so
		}
		return err
	}
	return f.Close()
}

// open opens a stored file, whatever its owner has made of the names on the way.
func (s *Store) open(job, attempt uint64, channel string, owner int) (*os.File, error) {
	return safepath.Open(s.folder, filepath.Join(worker.AttemptFolder("", job, attempt), channel), owner)
}

// Lookup finds a stored file for the data server.
func (s *Store) Lookup(k store.Key) (store.Stored, bool) {
	s.mu.Lock()
	o, ok := s.stored[uint64(k.Attempt)]
	s.mu.Unlock()
	if !ok || o.job != uint64(k.Job) || filepath.Base(k.Channel) != k.Channel {
		return store.Stored{}, false
	}
	return store.Stored{
		Path: filepath.Join(s.Folder(o.job, uint64(k.Attempt)), k.Channel), Token: o.token,
		Open: func() (*os.File, error) { return s.open(o.job, uint64(k.Attempt), k.Channel, o.owner) },
	}, true
}

// Stored lists what is there, in order of attempt.
func (s *Store) Stored() []*wire.Stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*wire.Stored
	for id, o := range s.stored {
		all = append(all, &wire.Stored{Job: o.job, Attempt: id})
	}
	slices.SortFunc(all, func(x, y *wire.Stored) int {
		if x.Attempt < y.Attempt {
			return -1
		}
		return 1
	})
	return all
}

// Jobs lists the jobs of which there are files, also those that are being removed, in no
// order; some more than once.
func (s *Store) Jobs() (all []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.stored {
		all = append(all, o.job)
	}
	for id, gone := range s.dropped {
		if !gone {
			all = append(all, id)
		}
	}
	return all
}

// Drop serves what one attempt stored no longer, and has it deleted.
func (s *Store) Drop(attempt uint64) {
	s.mu.Lock()
	o, ok := s.stored[attempt]
	delete(s.stored, attempt)
	s.mu.Unlock()
	if ok {
		go s.Remove(o.job, attempt)
	}
}

// Remove deletes what an attempt stored, and its job's folder with the last of that. It
// waits for the disk. Most attempts stored nothing.
func (s *Store) Remove(job, attempt uint64) {
	if _, err := os.Lstat(s.Folder(job, attempt)); errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err := safepath.RemoveAll(s.folder, worker.AttemptFolder("", job, attempt)); err != nil {
		s.log.Warn("can't remove what an attempt stored", "attempt", attempt, "error", err)
	}
	s.folders.Lock()
	defer s.folders.Unlock()
	if s.kept[job] == 0 {
		_ = os.Remove(s.jobFolder(job)) // fails while there is more in it
	}
}

// DropJob serves nothing of a job any longer, and remembers that. Asked says that it was
// dropped before, and gone that nothing is left of it. Unless it was asked before,
// RemoveJob is to follow.
func (s *Store) DropJob(job uint64) (asked, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if gone, asked = s.dropped[job]; asked {
		return true, gone
	}
	if len(s.dropped) >= droppedMax {
		clear(s.dropped)
	}
	s.dropped[job] = false
	for id, o := range s.stored {
		if o.job == job {
			delete(s.stored, id)
		}
	}
	return false, false
}

// Dropped reports whether a job was dropped.
func (s *Store) Dropped(job uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, dropped := s.dropped[job]
	return dropped
}

// RemoveJob deletes the files of a job that was dropped, once nobody writes any more. It
// is true when that is to be told. Where the disk does not let it, the next DropJob
// begins again. It waits for the disk.
func (s *Store) RemoveJob(job uint64) bool {
	err := safepath.RemoveAll(s.folder, jobName(job))
	if err != nil {
		s.log.Warn("can't remove a job's stored files", "folder", s.jobFolder(job), "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, asked := s.dropped[job]; !asked {
		return false // it was cleared meanwhile, or there are more jobs than are remembered
	}
	if err != nil {
		delete(s.dropped, job)
		return false
	}
	s.dropped[job] = true
	return true
}

// Clear serves nothing any longer and forgets all jobs. Empty is to follow.
func (s *Store) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.stored)
	clear(s.dropped)
}

// Empty deletes all files, once nobody writes any more. It waits for the disk.
func (s *Store) Empty() error {
	entries, err := os.ReadDir(s.folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := safepath.RemoveAll(s.folder, e.Name()); err != nil {
			return err
		}
	}
	return nil
}

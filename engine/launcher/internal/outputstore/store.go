// Package outputstore keeps the channel files of attempts that finished, knows which readers they
// are served to, and removes them when their job is over.
//
//	s := outputstore.New(folder, log)
//	s.AddOutputs(job, attempt, token, owner)
//	stored, ok := s.Lookup(key)
//	s.Drop(attempt)
//
// # Merged copies
//
// Files with many small partitions are copied into merged files (package merged), dozens of one
// connection into each. That is done as soon as there are enough for one. The rest is copied when a
// reader starts here. Readers on this machine find the copies by name. The data server answers requests
// for stored files from them. The manager and readers elsewhere know nothing of them. So an output that
// is lost or made again is handled as without them.
//
// # Invariants
//
// Nothing of a dropped job is served. A merged file goes with its job.
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

// droppedMax bounds how many dropped jobs are remembered. The manager starts nothing of a dropped
// job, unless its event log lost the job's end.
const droppedMax = 10_000

// Store is safe for concurrent use. Only functions that say so wait for the disk.
type Store struct {
	folder string // of the store
	log    *slog.Logger

	folders sync.Mutex     // held during disk access, by callers that wait for the disk anyway
	kept    map[uint64]int // by job: workers that can't make the job's folder themselves. Guarded by folders

	mu      sync.Mutex
	stored  map[uint64]outputs // by attempt; none of a dropped job
	dropped map[uint64]bool    // jobs that are over; true: all their files are gone. At most droppedMax

	merging merging
}

// outputs are the stored channel files of a finished attempt.
type outputs struct {
	job   uint64
	token string // a reader has to know it
	owner int    // id of the user who owns the files
}

// New returns an empty store.
func New(folder string, log *slog.Logger) *Store {
	s := &Store{folder: folder, log: log, kept: map[uint64]int{}, stored: map[uint64]outputs{}, dropped: map[uint64]bool{}}
	s.merging.clear()
	return s
}

// Folder is the folder of an attempt's files.
func (s *Store) Folder(job, attempt uint64) string {
	return worker.AttemptFolder(s.folder, job, attempt)
}

// jobName is the name of a job's folder below the store's.
func jobName(job uint64) string { return "job-" + strconv.FormatUint(job, 10) }

// jobFolder is the path of a job's folder.
func (s *Store) jobFolder(job uint64) string { return filepath.Join(s.folder, jobName(job)) }

// Prepare makes the folder of a job's files for a worker whose user can't make it, and keeps it
// until Release. It returns the folder; "" for a dropped job, which stores nothing any more, and
// needs no Release. It waits for the disk.
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

// Release undoes one Prepare. The last one removes the folder if it is empty. It waits for the
// disk.
func (s *Store) Release(job uint64) {
	s.folders.Lock()
	defer s.folders.Unlock()
	if s.kept[job]--; s.kept[job] <= 0 {
		delete(s.kept, job)
		_ = os.Remove(s.jobFolder(job)) // likewise
	}
}

// AddOutputs notes that an attempt's files are complete, and who owns them. From now on they are
// served to readers that know the token. Small partitions of stored are copied into merged files.
func (s *Store) AddOutputs(job, attempt uint64, token string, owner int, stored []*wire.StoredOutput) {
	s.mu.Lock()
	s.stored[attempt] = outputs{job, token, owner}
	s.mu.Unlock()
	s.mergeOutputs(job, attempt, owner, stored)
}

// Check returns an error for a file of an attempt that would not be served because it is not a
// plain file of its owner. It waits for the disk.
func (s *Store) Check(job, attempt uint64, channel string, owner int) error {
	f, err := s.open(job, attempt, channel, owner)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it is in the job's storage, or is lost: its readers report that
		}
		return err
	}
	return f.Close()
}

// open opens a stored file safely, even if its owner replaced a folder on the path.
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

// Stored lists all stored outputs, in order of attempt.
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

// Jobs lists the jobs that have files, including files that are being removed, in no order; a job
// may occur more than once.
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

// Drop stops serving an attempt's files, and has them deleted.
func (s *Store) Drop(attempt uint64) {
	s.mu.Lock()
	o, ok := s.stored[attempt]
	delete(s.stored, attempt)
	s.mu.Unlock()
	if ok {
		go s.Remove(o.job, attempt)
	}
}

// Remove deletes an attempt's files, and its job's folder if that is empty then. It waits for the
// disk. Most attempts stored nothing.
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

// DropJob stops serving a job's files, and remembers that. asked is true if the job was dropped
// before, gone if all its files are deleted. Unless asked is true, the caller must call RemoveJob.
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

// RemoveJob deletes a dropped job's files, once nobody writes any more. It is true when the caller
// has to report the deletion. If the deletion fails, the next DropJob begins again. It waits for
// the disk.
func (s *Store) RemoveJob(job uint64) bool {
	s.merging.forget(job)
	s.merging.work.Lock()
	err := errors.Join(safepath.RemoveAll(s.folder, jobName(job)), os.RemoveAll(worker.MergedFolder(s.folder, job)))
	s.merging.work.Unlock()
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

// Clear stops serving all files and forgets all jobs. The caller must call Empty afterwards.
func (s *Store) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.stored)
	clear(s.dropped)
	s.merging.clear()
}

// Empty deletes all files, once nobody writes any more. It waits for the disk.
func (s *Store) Empty() error {
	s.merging.work.Lock()
	defer s.merging.work.Unlock()
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

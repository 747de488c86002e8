package logarchive

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Defaults of Options.
const (
	JobBytesDefault     = 256 << 20
	UserBytesDefault    = 4 << 30
	BytesASecondDefault = 16 << 20
)

const (
	// waitingMax bounds the bytes in memory that wait to be written.
	waitingMax = 64 << 20
	// blockBytes is how much of a job is written at once, before compression. Smaller amounts wait for more, blockWait
	// long at most.
	blockBytes = 256 << 10
	blockWait  = 500 * time.Millisecond
	// tryAgain is the time to the next write after one that failed.
	tryAgain = time.Second
)

// Options say where ends of logs are, and how much of them is kept.
type Options struct {
	Folder       string
	JobBytes     int64        // of one job's file; beyond it only failed attempts are kept, beyond twice as much none; 0: JobBytesDefault
	UserBytes    int64        // of the files of one user's jobs, with the same rule as JobBytes; 0: UserBytesDefault
	User         UserOf       // finds the user of a job whose file exists when the store is opened; nil: those files count to no user
	BytesMax     int64        // of all files; 0: only JobBytes and UserBytes bound them
	BytesASecond int64        // written a second; 0: BytesASecondDefault
	Changed      func()       // called when writing begins to fail, and when it works again; nil: nothing is called
	Log          *slog.Logger // nil: slog.Default
}

// Key names a job.
type Key struct {
	Job       scheduler.JobID
	Submitted scheduler.Time
}

// ErrBusy says that the buffer is full, and that the caller should send the same again later.
var ErrBusy = errors.New("enough ends of logs wait to be written: send them again later")

// Store is an open store. Safe for concurrent use.
type Store struct {
	o      Options
	wake   chan struct{}
	closes chan struct{}
	done   sync.WaitGroup

	mu        sync.Mutex
	files     map[scheduler.JobID]map[scheduler.Time]int64 // size of each file
	bytes     int64                                        // of all files
	waiting   map[Key][]*wire.LogTail
	order     []Key            // keys of waiting, the next to write first
	writing   *block           // the block that is being written; nil: none
	heldBytes int              // size of waiting and writing
	ends      map[Key]int64    // where the last whole block of a file ends, as far as known
	owners    map[Key]string   // users of jobs, as far as known
	users     map[string]int64 // bytes of files, by user
	dropped   uint64           // tails that were dropped for a bound
	err       error            // why nothing can be written; nil: it can
	since     time.Time        // since when nothing can be written
}

// block is a number of tails of a job that are written together.
type block struct {
	key  Key
	list []*wire.LogTail
	gone bool // the job was removed meanwhile
}

// Open opens a store, and makes its folder if there is none. Options that are zero get their defaults.
func Open(o Options) (*Store, error) {
	s, err := openIdle(o)
	if err == nil {
		s.done.Go(s.run)
	}
	return s, err
}

// openIdle opens a store without the goroutine that writes.
func openIdle(o Options) (*Store, error) {
	o.JobBytes = cmp.Or(o.JobBytes, JobBytesDefault)
	o.UserBytes = cmp.Or(o.UserBytes, UserBytesDefault)
	o.BytesASecond = cmp.Or(o.BytesASecond, BytesASecondDefault)
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Changed == nil {
		o.Changed = func() {}
	}
	s := &Store{
		o: o, wake: make(chan struct{}, 1), closes: make(chan struct{}), files: map[scheduler.JobID]map[scheduler.Time]int64{},
		waiting: map[Key][]*wire.LogTail{}, ends: map[Key]int64{}, owners: map[Key]string{}, users: map[string]int64{},
	}
	if err := os.MkdirAll(o.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("ends of logs: %w", err)
	}
	entries, err := os.ReadDir(o.Folder)
	if err != nil {
		return nil, fmt.Errorf("ends of logs: %w", err)
	}
	for _, e := range entries {
		if k, ok := keyOf(e.Name()); ok {
			if info, err := e.Info(); err == nil {
				s.setSize(k, info.Size())
			}
		}
	}
	return s, nil
}

// Suffix is how the names of files end.
const Suffix = ".tails"

func (s *Store) path(k Key) string {
	return filepath.Join(s.o.Folder, fmt.Sprintf("%d-%x%s", uint64(k.Job), uint64(k.Submitted), Suffix))
}

// keyOf reads a file's name.
func keyOf(name string) (Key, bool) {
	var job, submitted uint64
	if _, err := fmt.Sscanf(name, "%d-%x"+Suffix, &job, &submitted); err != nil || fmt.Sprintf("%d-%x%s", job, submitted, Suffix) != name {
		return Key{}, false
	}
	return Key{scheduler.JobID(job), scheduler.Time(submitted)}, true
}

// setSize records the size of a file. The caller holds mu, or is the only one with the store.
func (s *Store) setSize(k Key, bytes int64) {
	of := s.files[k.Job]
	if of == nil {
		of = map[scheduler.Time]int64{}
		s.files[k.Job] = of
	}
	s.bytes += bytes - of[k.Submitted]
	s.addUserBytes(k, bytes-of[k.Submitted])
	of[k.Submitted] = bytes
}

// Add adds tails of a job. It does not block. ErrBusy says that it added none.
func (s *Store) Add(k Key, list []*wire.LogTail) error {
	bytes := 0
	for _, t := range list {
		bytes += sizeOf(t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heldBytes+bytes > waitingMax && s.heldBytes > 0 {
		return ErrBusy
	}
	if len(s.waiting[k]) == 0 {
		s.order = append(s.order, k)
	}
	s.waiting[k] = append(s.waiting[k], list...)
	s.heldBytes += bytes
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return nil
}

// sizeOf is the size of a tail in memory, in bytes.
func sizeOf(t *wire.LogTail) int { return 128 + len(t.Text) + len(t.Lacks) }

// State describes the store.
type State struct {
	Bytes   int64     // of files
	Waiting int       // bytes that wait to be written
	Dropped uint64    // tails that were dropped for a bound
	Err     error     // why nothing can be written; nil: it can
	Behind  time.Time // since when; zero: it can
}

// State returns the state of the store now.
func (s *Store) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return State{s.bytes, s.heldBytes, s.dropped, s.err, s.since}
}

// Bytes returns the size of all files.
func (s *Store) Bytes() int64 { return s.State().Bytes }

// BytesOf returns the size of the files under a job's number.
func (s *Store) BytesOf(job scheduler.JobID) (bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.files[job] {
		bytes += n
	}
	return bytes
}

// Jobs lists the jobs that have files, in no order.
func (s *Store) Jobs() (list []Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for job, of := range s.files {
		for submitted := range of {
			list = append(list, Key{job, submitted})
		}
	}
	return list
}

// AddFile takes in a file that was put into the folder, by its name.
func (s *Store) AddFile(name string) {
	k, ok := keyOf(name)
	info, err := os.Stat(filepath.Join(s.o.Folder, name))
	if !ok || err != nil {
		return // not a file of the store, or removed meanwhile
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setSize(k, info.Size())
}

// Names returns the names of the files under a job's number.
func (s *Store) Names(job scheduler.JobID) (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for submitted := range s.files[job] {
		list = append(list, filepath.Base(s.path(Key{job, submitted})))
	}
	return list
}

// Remove removes all tails of a job, also those that wait to be written.
func (s *Store) Remove(k Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.waiting[k] {
		s.heldBytes -= sizeOf(t)
	}
	if s.writing != nil && s.writing.key == k {
		s.writing.gone = true
	}
	delete(s.waiting, k)
	delete(s.ends, k)
	of := s.files[k.Job]
	size, there := of[k.Submitted]
	if !there {
		delete(s.owners, k)
		return nil
	}
	if err := os.Remove(s.path(k)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("ends of logs: %w", err)
	}
	s.bytes -= size
	s.addUserBytes(k, -size)
	delete(s.owners, k)
	if delete(of, k.Submitted); len(of) == 0 {
		delete(s.files, k.Job)
	}
	return nil
}

// RemoveJob removes all tails under a job's number.
func (s *Store) RemoveJob(job scheduler.JobID) error {
	s.mu.Lock()
	keys := map[Key]bool{}
	for submitted := range s.files[job] {
		keys[Key{job, submitted}] = true
	}
	for k := range s.waiting {
		if k.Job == job {
			keys[k] = true
		}
	}
	if s.writing != nil && s.writing.key.Job == job {
		keys[s.writing.key] = true
	}
	s.mu.Unlock()
	var wrong []error
	for k := range keys {
		wrong = append(wrong, s.Remove(k))
	}
	return errors.Join(wrong...)
}

// Close writes all tails, and stops. The error says why some could not be written.
func (s *Store) Close() error {
	close(s.closes)
	s.done.Wait()
	return s.State().Err
}

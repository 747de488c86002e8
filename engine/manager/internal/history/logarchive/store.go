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
	// waitingMax bounds the bytes that wait to be written.
	waitingMax = 64 << 20
	// blockBytes is how much of a job is written at once, before it is compressed, and blockWait how
	// long less waits for more.
	blockBytes = 256 << 10
	blockWait  = 500 * time.Millisecond
	// tryAgain is the time to the next try after one that failed.
	tryAgain = time.Second
)

// Options say where tails are and how much of them is kept.
type Options struct {
	Folder       string
	JobBytes     int64        // of one job's file; beyond it only tails of failed attempts are kept, and beyond twice that none; 0: JobBytesDefault
	UserBytes    int64        // of the files of one user's jobs; beyond it, and twice that, likewise; 0: UserBytesDefault
	User         UserOf       // finds whose a file is that is there already; nil: those count to nobody
	BytesMax     int64        // of all files; 0: no bound but JobBytes and UserBytes
	BytesASecond int64        // that are written; 0: BytesASecondDefault
	Changed      func()       // hears that they can't be written, and that they can again; nil: nobody does
	Log          *slog.Logger // nil: slog.Default
}

// Key names a job.
type Key struct {
	Job       scheduler.JobID
	Submitted scheduler.Time
}

// ErrBusy says that enough waits to be written: it is to be brought again later.
var ErrBusy = errors.New("enough ends of logs wait to be written: send them again later")

// Store is an open one. Safe for concurrent use.
type Store struct {
	o    Options
	wake chan struct{}
	over chan struct{}
	done sync.WaitGroup

	mu      sync.Mutex
	files   map[scheduler.JobID]map[scheduler.Time]int64 // bytes
	bytes   int64                                        // of all
	waiting map[Key][]*wire.LogTail
	order   []Key            // of waiting
	writing *block           // what is being written
	held    int              // bytes of waiting and writing
	whole   map[Key]int64    // files that end with a whole block there
	owners  map[Key]string   // whose the jobs are, as far as that is known
	users   map[string]int64 // bytes of files, by user
	dropped uint64           // tails that a bound let go
	wrong   error            // why nothing can be written
	since   time.Time        // since when
}

// block is what is written at once.
type block struct {
	key  Key
	list []*wire.LogTail
	gone bool // its job was removed
}

// Open opens a store, and makes the folder where there is none.
func Open(o Options) (*Store, error) {
	s, err := still(o)
	if err == nil {
		s.done.Go(s.run)
	}
	return s, err
}

// still opens a store that writes nothing yet.
func still(o Options) (*Store, error) {
	o.JobBytes = cmp.Or(o.JobBytes, JobBytesDefault)
	o.UserBytes = cmp.Or(o.UserBytes, UserBytesDefault)
	o.BytesASecond = cmp.Or(o.BytesASecond, BytesASecondDefault)
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Changed == nil {
		o.Changed = func() {}
	}
	s := &Store{
		o: o, wake: make(chan struct{}, 1), over: make(chan struct{}), files: map[scheduler.JobID]map[scheduler.Time]int64{},
		waiting: map[Key][]*wire.LogTail{}, whole: map[Key]int64{}, owners: map[Key]string{}, users: map[string]int64{},
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
				s.sized(k, info.Size())
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

// sized notes how long a file is. The caller holds mu, or is alone.
func (s *Store) sized(k Key, bytes int64) {
	of := s.files[k.Job]
	if of == nil {
		of = map[scheduler.Time]int64{}
		s.files[k.Job] = of
	}
	s.bytes += bytes - of[k.Submitted]
	s.counts(k, bytes-of[k.Submitted])
	of[k.Submitted] = bytes
}

// Add takes tails of a job. It does not wait; ErrBusy says that it took none.
func (s *Store) Add(k Key, list []*wire.LogTail) error {
	bytes := 0
	for _, t := range list {
		bytes += sizeOf(t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held+bytes > waitingMax && s.held > 0 {
		return ErrBusy
	}
	if len(s.waiting[k]) == 0 {
		s.order = append(s.order, k)
	}
	s.waiting[k] = append(s.waiting[k], list...)
	s.held += bytes
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return nil
}

// sizeOf is what a tail counts for in memory.
func sizeOf(t *wire.LogTail) int { return 128 + len(t.Text) + len(t.Lacks) }

// State is how the store is.
type State struct {
	Bytes   int64     // of files
	Waiting int       // bytes that wait to be written
	Dropped uint64    // tails that a bound let go
	Wrong   error     // why nothing can be written; nil: it can
	Behind  time.Time // since when; zero: it can
}

// State is how the store is.
func (s *Store) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return State{s.bytes, s.held, s.dropped, s.wrong, s.since}
}

// Bytes are those of all files.
func (s *Store) Bytes() int64 { return s.State().Bytes }

// BytesOf are those of a job's files.
func (s *Store) BytesOf(job scheduler.JobID) (bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.files[job] {
		bytes += n
	}
	return bytes
}

// Jobs lists those that have files.
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

// Took takes in a file that was put into the folder, by its name.
func (s *Store) Took(name string) {
	k, ok := keyOf(name)
	info, err := os.Stat(filepath.Join(s.o.Folder, name))
	if !ok || err != nil {
		return // it is none of ours, or went
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sized(k, info.Size())
}

// Names are those of a job's files.
func (s *Store) Names(job scheduler.JobID) (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for submitted := range s.files[job] {
		list = append(list, filepath.Base(s.path(Key{job, submitted})))
	}
	return list
}

// Remove removes what there is of a job.
func (s *Store) Remove(k Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.waiting[k] {
		s.held -= sizeOf(t)
	}
	if s.writing != nil && s.writing.key == k {
		s.writing.gone = true
	}
	delete(s.waiting, k)
	delete(s.whole, k)
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
	s.counts(k, -size)
	delete(s.owners, k)
	if delete(of, k.Submitted); len(of) == 0 {
		delete(s.files, k.Job)
	}
	return nil
}

// RemoveJob removes what there is under a job's number.
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

// Close writes what there is, and ends.
func (s *Store) Close() error {
	close(s.over)
	s.done.Wait()
	return s.State().Wrong
}

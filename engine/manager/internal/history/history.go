package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/backup"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/index"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/logarchive"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/timeseries"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// History is an open history. BeginAt, TakeChanges and Replayed are called by one goroutine at a time, in the order of
// the log's records. All other methods are safe for concurrent use.
type History struct {
	o      Options
	opened uint64 // the position when history was opened
	queue  queue
	// calls are functions for the goroutine run, which applies the updates before them first.
	calls  chan func()
	files  files
	index  atomic.Pointer[index.Index]
	series *timeseries.Store
	tails  *logarchive.Store
	mirror *backup.Mirror // nil: no copy is kept on another store

	// Only the goroutine run uses these.
	journal      journal
	toSeal       []endedJob
	sampler      sampler
	applied      uint64    // record
	settings     uint64    // version of the configuration that is used
	skipTo       uint64    // history has all rows up to this record
	damagedParts []string  // errors of parts of the journal that could not be read, until BeginAt
	retryAt      time.Time // when to write again after a failed write

	mu           sync.Mutex
	unsealed     map[scheduler.JobID]endedJob // jobs whose files are not written yet
	waiters      []waiter
	state        State
	damagedFiles []damagedFile // State.Damaged, which is empty in state
	closed       bool          // nothing more is written
	changed      chan struct{} // closed when state changes; nil: Changed was not called since
	closes       chan struct{}
	done         sync.WaitGroup

	remaking sync.Mutex // held while the index is rebuilt
}

// endedJob is a job that ended, and whose file is not written yet.
type endedJob struct {
	id     scheduler.JobID
	record uint64
	status *wire.JobStatus
	queued bool // the update with its end is still in the queue
}

// waiter is a call of Sync.
type waiter struct {
	record uint64
	done   chan struct{}
}

// State describes history.
type State struct {
	Behind  time.Time        // since when history can't be written; zero: it can
	Err     error            // why it can't be written; nil: it can
	Missed  uint64           // rows that were dropped for want of room
	Freed   uint64           // jobs that were removed early, for a full disk
	FreedAt time.Time        // when one of Freed was removed last; zero: never
	Record  uint64           // history's position: it is durable up to this record of the event log
	Jobs    int              // number of jobs that ended
	Bytes   int64            // size of their files
	Damaged []string         // errors of files that can't be read, at most damagedMax
	Store   *backup.State    // the copy on another store; nil: none is kept
	Tails   logarchive.State // the ends of attempts' logs
	// Revision changes when any field does, except Record and the amounts that wait.
	// Listed changes when the list of ended jobs does for another reason than a job's end.
	Revision, Listed uint64
}

// Open opens history, and makes its folder if there is none. Options that are zero get their defaults.
func Open(o Options) (*History, error) {
	o.fill()
	h := &History{o: o, unsealed: map[scheduler.JobID]endedJob{}, closes: make(chan struct{}), calls: make(chan func()), sampler: newSampler()}
	h.queue.wake = make(chan struct{}, 1)
	h.files = files{folder: filepath.Join(o.Folder, jobsFolder), write: h.o.write}
	h.journal.parts = parts{folder: filepath.Join(o.Folder, "journal"), write: h.o.write, live: map[int]int{}, records: map[int]uint64{}}
	for _, folder := range []string{h.files.folder, h.journal.parts.folder} {
		err := os.MkdirAll(folder, 0o700)
		if err == nil {
			err = h.refuseNFS(folder)
		}
		if err == nil {
			err = sweepFolder(folder)
		}
		if err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
	}
	damaged, err := h.journal.open()
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	for _, wrong := range damaged {
		h.damaged(wrong)
		h.damagedParts = append(h.damagedParts, wrong.Error())
	}
	if err := h.restoreAside(); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	// Parts that other jobs need may still have chunks of a job that is sealed.
	h.logLeftover(h.journal.forget(slices.DeleteFunc(h.journal.ids(), func(id scheduler.JobID) bool { return !h.files.has(id) })))
	if err := h.openStores(); err != nil {
		return nil, errors.Join(fmt.Errorf("history: %w", err), h.closeStores())
	}
	h.opened = h.journal.record
	h.skipTo, h.applied, h.state.Record = h.opened, h.opened, h.opened
	if err := h.openMirror(); err != nil {
		return nil, errors.Join(fmt.Errorf("history: %w", err), h.closeStores())
	}
	h.done.Go(h.run)
	h.done.Go(h.reconcile)
	return h, nil
}

// openStores opens the index, the samples and the ends of logs. The caller closes those that are open after an error.
// The samples are opened beside the others: new files wait for the disk several times.
func (h *History) openStores() error {
	var wrong error
	var series sync.WaitGroup
	series.Go(func() { h.series, wrong = timeseries.Open(filepath.Join(h.o.Folder, "series.db"), h.o.Log) })
	err := h.openIndex()
	if err == nil {
		h.tails, err = h.openTails()
	}
	series.Wait()
	return errors.Join(err, wrong)
}

// closeStores closes the stores that openStores opened.
func (h *History) closeStores() (err error) {
	if x := h.index.Load(); x != nil {
		x.Close()
	}
	if h.tails != nil {
		err = h.tails.Close()
	}
	if h.series != nil {
		err = errors.Join(err, h.series.Close())
	}
	return err
}

// BeginAt gives all jobs of a core that was restored to its state after a record. TakeChanges follows for each record
// that is replayed.
func (h *History) BeginAt(record uint64, all *core.Changes) {
	n := updateOf(record, all)
	n.restored, n.attempts = true, nil // history has them, or they are replayed
	h.queue.add(n)
}

// TakeChanges adds what a step changed, once the step's record is durable. It does not block.
func (h *History) TakeChanges(record uint64, f *core.Changes) {
	if len(f.Ended) > 0 {
		h.mu.Lock()
		for _, s := range f.Ended {
			id := scheduler.JobID(s.GetSummary().GetJob())
			if e := h.unsealed[id]; e.status == nil || e.queued {
				h.unsealed[id] = endedJob{id, record, s, true}
			}
		}
		h.mu.Unlock()
	}
	h.queue.add(updateOf(record, f))
}

// WaitForRoom blocks until the queue is at most half full, or history is closed. A replay calls it, so that no row is
// dropped.
func (h *History) WaitForRoom() { h.queue.wait(h.closes) }

// DurableAtOpen is history's position when it was opened, a record of the event log.
func (h *History) DurableAtOpen() uint64 { return h.opened }

// Sync blocks until history is durable up to a record. TakeChanges may get that record later. The error is that of ctx;
// nil also when history was closed.
func (h *History) Sync(ctx context.Context, record uint64) error {
	w := waiter{record, make(chan struct{})}
	h.mu.Lock()
	if h.state.Record >= record || h.closed {
		h.mu.Unlock()
		return nil
	}
	h.waiters = append(h.waiters, w)
	h.mu.Unlock()
	select {
	case h.queue.wake <- struct{}{}:
	default:
	}
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close writes all that was taken, and stops. The error says what could not be written.
func (h *History) Close() error {
	if h.mirror != nil {
		h.mirror.Close()
	}
	close(h.closes)
	h.done.Wait()
	return errors.Join(h.State().Err, h.closeStores())
}

// State returns the state of history now.
func (h *History) State() State {
	h.mu.Lock()
	s := h.state
	for _, x := range h.damagedFiles {
		s.Damaged = append(s.Damaged, x.text)
	}
	h.mu.Unlock()
	s.Missed += h.queue.missedRows()
	s.Jobs, s.Bytes = h.index.Load().Totals()
	s.Tails = h.tails.State()
	if h.mirror != nil {
		copied := h.mirror.State()
		s.Store = &copied
	}
	return s
}

// Series reads samples of a tier, summed to a number of points: see timeseries.Store.Rows.
func (h *History) Series(tier int, from, until int64, points int) ([]timeseries.Row, time.Duration, error) {
	return h.series.Rows(tier, from, until, points)
}

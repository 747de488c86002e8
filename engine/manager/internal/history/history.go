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
	"github.com/hamadryad/hamadryad/internal/atomicfile"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// History is an open one. Begin and Take are called by one goroutine at a time, in the order of the
// log's records; everything else may run beside them.
type History struct {
	o      Options
	opened uint64 // the record up to which it was durable when it was opened
	queue  queue
	// questions are asked of the goroutine run, when all is applied that came before.
	questions chan func()
	files     files
	index     atomic.Pointer[index.Index]
	series    *timeseries.Store
	tails     *logarchive.Store
	mirror    *backup.Mirror // nil: there is no copy on another store

	// These belong to the goroutine run.
	journal  journal
	ending   []ending
	sampler  sampler
	applied  uint64    // record
	settings uint64    // version of the configuration in force
	skipTo   uint64    // what came up to this record is there
	spoilt   []string  // what is wrong with parts of the journal that could not be read, until Begin
	again    time.Time // not before then is tried to write, after it failed

	mu     sync.Mutex
	told   map[scheduler.JobID]ending // jobs that ended, by what waits in the queue
	ended  map[scheduler.JobID]ending // jobs whose files are to be written
	asked  []waiter
	state  State
	bad    []badFile     // the files of state.Damaged
	over   bool          // nothing is written any more
	waked  chan struct{} // closed when state changes; nil: nobody waits
	closes chan struct{}
	done   sync.WaitGroup

	remaking sync.Mutex // of the index
}

// ending is a job whose file is to be written.
type ending struct {
	id     scheduler.JobID
	record uint64
	status *wire.JobStatus
}

// waiter waits until history is durable up to a record.
type waiter struct {
	record uint64
	told   chan struct{}
}

// State is how history is.
type State struct {
	Behind  time.Time        // since when it can't be written; zero: it can
	Why     error            // that it can't
	Missed  uint64           // rows that it could not take
	Freed   uint64           // jobs that went before their time, since the disk was full
	FreedAt time.Time        // when one went last; zero: none did
	Record  uint64           // it is durable up to this one of the event log
	Jobs    int              // that ended
	Bytes   int64            // of their files
	Damaged []string         // files that can't be read, up to damagedMax
	Store   *backup.State    // of the copy on another store; nil: there is none
	Tails   logarchive.State // of the ends of attempts' logs
	// Revision is another one when something of this has changed, but for Record and how much waits.
	// Listed is, when the list of jobs has, otherwise than by a job's end.
	Revision, Listed uint64
}

// Open opens history, and makes the folder where there is none.
func Open(o Options) (*History, error) {
	o.fill()
	h := &History{o: o, told: map[scheduler.JobID]ending{}, ended: map[scheduler.JobID]ending{}, closes: make(chan struct{}), questions: make(chan func()), sampler: newSampler()}
	h.queue.wake = make(chan struct{}, 1)
	if h.o.write == nil {
		h.o.write = atomicfile.Replace
	}
	h.files = files{folder: filepath.Join(o.Folder, jobsFolder), write: h.o.write}
	h.journal.parts = parts{folder: filepath.Join(o.Folder, "journal"), write: h.o.write, live: map[int]int{}, reach: map[int]uint64{}}
	for _, folder := range []string{h.files.folder, h.journal.parts.folder} {
		err := os.MkdirAll(folder, 0o700)
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
		h.spoilt = append(h.spoilt, wrong.Error())
	}
	if err := h.putBack(); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	// A job that has its file may have lost parts of the journal since. Its file is whole.
	h.tidy(h.journal.forget(slices.DeleteFunc(h.journal.ids(), func(id scheduler.JobID) bool { return !h.files.has(id) })))
	if err := h.openIndex(); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	if h.series, err = timeseries.Open(filepath.Join(o.Folder, "series.db"), o.Log); err != nil {
		h.index.Load().Close()
		return nil, fmt.Errorf("history: %w", err)
	}
	if h.tails, err = h.openTails(); err != nil {
		h.index.Load().Close()
		return nil, errors.Join(fmt.Errorf("history: %w", err), h.series.Close())
	}
	h.opened = h.journal.record
	h.skipTo, h.applied, h.state.Record = h.opened, h.opened, h.opened
	if err := h.openMirror(); err != nil {
		h.index.Load().Close()
		return nil, errors.Join(fmt.Errorf("history: %w", err), h.series.Close(), h.tails.Close())
	}
	h.done.Go(h.run)
	h.done.Go(h.reconcile)
	return h, nil
}

// BeginAt says what there is when a manager begins, of a core that was restored as it was after a
// record. What is replayed follows through TakeChanges.
func (h *History) BeginAt(record uint64, all *core.Changes) {
	n := newsOf(record, all)
	n.all, n.attempts = true, nil // those are replayed, or there
	h.queue.add(n)
}

// TakeChanges tells what a step changed, once the step's record is durable. It does not wait.
func (h *History) TakeChanges(record uint64, f *core.Changes) {
	if len(f.Ended) > 0 {
		h.mu.Lock()
		for _, s := range f.Ended {
			id := scheduler.JobID(s.GetSummary().GetJob())
			h.told[id] = ending{id, record, s}
		}
		h.mu.Unlock()
	}
	h.queue.add(newsOf(record, f))
}

// Wait waits until there is room for more, for who has time: a manager that replays its log.
func (h *History) Wait() { h.queue.wait(h.closes) }

// Record is up to where history was durable when it was opened.
func (h *History) Record() uint64 { return h.opened }

// Sync waits until history is durable up to a record that it was told of, or will be. The error is
// that of ctx.
func (h *History) Sync(ctx context.Context, record uint64) error {
	w := waiter{record, make(chan struct{})}
	h.mu.Lock()
	if h.state.Record >= record || h.over {
		h.mu.Unlock()
		return nil
	}
	h.asked = append(h.asked, w)
	h.mu.Unlock()
	select {
	case h.queue.wake <- struct{}{}:
	default:
	}
	select {
	case <-w.told:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close writes what there is, and ends.
func (h *History) Close() error {
	if h.mirror != nil {
		h.mirror.Close()
	}
	close(h.closes)
	h.done.Wait()
	h.index.Load().Close()
	return errors.Join(h.State().Why, h.tails.Close(), h.series.Close())
}

// State is how history is.
func (h *History) State() State {
	h.mu.Lock()
	s := h.state
	h.mu.Unlock()
	s.Missed += h.queue.lacks()
	s.Jobs, s.Bytes = h.index.Load().Totals()
	s.Tails = h.tails.State()
	if h.mirror != nil {
		copied := h.mirror.State()
		s.Store = &copied
	}
	return s
}

// Series reads samples, summed to so many points: timeseries.Store.Rows.
func (h *History) Series(tier int, from, until int64, points int) ([]timeseries.Row, time.Duration, error) {
	return h.series.Rows(tier, from, until, points)
}

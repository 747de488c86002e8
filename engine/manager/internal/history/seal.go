package history

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/index"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// seal writes the files of jobs that ended, and adds them to the index. After an error the rest is tried again later.
func (h *History) seal() {
	if h.o.Now().Before(h.retryAt) {
		return
	}
	for len(h.toSeal) > 0 {
		batch := h.toSeal[:min(len(h.toSeal), sealsMax)]
		entries, ids, err := h.writeFiles(batch)
		if err != nil {
			h.setBehind(err)
			return
		}
		if err := h.retryWithRoom(func() error { return h.onIndex(func(x *index.Index) error { return x.PutEntries(entries) }) }); err != nil {
			h.setBehind(err)
			return
		}
		h.toSeal = h.toSeal[len(batch):]
		h.logLeftover(h.journal.forget(ids))
		h.mu.Lock()
		for _, id := range ids {
			delete(h.unsealed, id)
		}
		h.notifyLocked(stateChanged)
		h.mu.Unlock()
	}
	h.keepBounds()
}

// writeFiles writes the files of jobs that ended, writesMax at the same time. It returns their entries of the index.
func (h *History) writeFiles(ended []endedJob) (entries []index.Entry, ids []scheduler.JobID, err error) {
	for some := range slices.Chunk(ended, writesMax) {
		list := make([]sealed, len(some))
		for i, e := range some {
			j := h.journal.wholeJob(h.journal.job(e.id))
			j.Record, j.Status = e.record, e.status
			if list[i], err = h.files.sealJob(j); err != nil {
				return nil, nil, err
			}
			entries, ids = append(entries, list[i].entry), append(ids, e.id)
		}
		if err := h.retryWithRoom(func() error { return h.files.writeAll(list) }); err != nil {
			return nil, nil, err
		}
	}
	return entries, ids, nil
}

// flush makes everything durable that was applied, and ends the calls of Sync that wait for it.
func (h *History) flush() {
	record := h.applied
	if h.seal(); len(h.toSeal) > 0 || h.o.Now().Before(h.retryAt) {
		return
	}
	if err := h.retryWithRoom(func() error { return h.journal.write(record) }); err != nil {
		h.setBehind(err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.state.Behind.IsZero() {
		h.o.Log.Info("history can be written again", "behindSince", h.state.Behind)
		h.notifyLocked(stateChanged)
	}
	h.state.Behind, h.state.Err, h.state.Record = time.Time{}, nil, record
	asked := h.waiters[:0]
	for _, w := range h.waiters {
		if w.record > record {
			asked = append(asked, w)
			continue
		}
		close(w.done)
	}
	h.waiters = asked
}

// setBehind records that history can't be written, and why.
func (h *History) setBehind(err error) {
	h.retryAt = h.o.Now().Add(tryAgain)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state.Err = err
	if h.state.Behind.IsZero() {
		h.state.Behind = h.o.Now()
		h.notifyLocked(stateChanged)
		h.o.Log.Error("history can't be written: scheduling goes on, and what does not fit into memory will be missing", "error", err, "remedy", "free space there", "folder", h.o.Folder)
	}
}

func (h *History) isBehind() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.state.Behind.IsZero()
}

// On a full disk the oldest jobs are removed roomTries times at most for one write: roomJobs of them at first, and twice
// as many each time.
const (
	roomTries = 10
	roomJobs  = 8
)

// tryAgain is the time to the next write after one that failed.
const tryAgain = time.Second

// retryWithRoom calls a function that writes. On a full disk it removes the oldest jobs and calls it again, until there
// is room or no job is left.
func (h *History) retryWithRoom(do func() error) error {
	for try := range roomTries {
		err := do()
		if err == nil || !eventlog.IsFull(err) {
			return err
		}
		n, wrong := h.removeOldest(roomJobs << try)
		h.countFreed(n)
		if n == 0 || wrong != nil {
			return errors.Join(err, wrong)
		}
		h.o.Log.Warn("history's disk is full: the oldest jobs were removed", "jobs", n, "folder", h.o.Folder)
	}
	return do()
}

// countFreed counts jobs that were removed for a full disk.
func (h *History) countFreed(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state.Freed += uint64(n)
	if n > 0 {
		h.state.FreedAt = h.o.Now()
		h.notifyLocked(stateChanged)
	}
}

// MakeRoom removes the oldest jobs that ended, at most a number of them, so that others have room on history's disk. It
// returns how many it removed; 0: none is left. The error is that of ctx, or that history is closed, or that of
// removing a file. Safe for concurrent use.
func (h *History) MakeRoom(ctx context.Context, jobs int) (n int, err error) {
	var wrong error
	err = h.call(ctx, func() {
		n, wrong = h.removeOldest(jobs)
		h.countFreed(n)
	})
	return n, errors.Join(err, wrong)
}

// keepBounds removes the oldest jobs until the rest is within the bounds.
func (h *History) keepBounds() {
	for {
		jobs, bytes := h.index.Load().Totals()
		if jobs == 0 {
			return
		}
		if h.mirror != nil { // older copies are removed before any job
			h.mirror.SetOlderMax(max(h.o.BytesMax-bytes-h.tails.Bytes(), 0))
		}
		over := max(jobs-h.o.JobsMax, h.tooMuch(bytes+h.tails.Bytes()-h.o.BytesMax))
		if over <= 0 {
			over = h.tooOld()
		}
		if over == 0 {
			return
		}
		if n, err := h.removeOldest(over); n == 0 || err != nil {
			h.logLeftover(err)
			return
		}
	}
}

// tooMuch is how many of the oldest jobs have a number of bytes together.
func (h *History) tooMuch(bytes int64) (n int) {
	if bytes <= 0 {
		return 0
	}
	for _, e := range h.index.Load().Oldest(sealsMax) {
		if bytes <= 0 {
			break
		}
		bytes -= e.Bytes + h.tails.BytesOf(e.ID)
		n++
	}
	return n
}

// tooOld is how many of the oldest jobs ended longer ago than KeepFor.
func (h *History) tooOld() (n int) {
	until := h.o.Now().Add(-h.o.KeepFor).UnixNano()
	for _, e := range h.index.Load().Oldest(sealsMax) {
		if e.At < until {
			n++
		}
	}
	return n
}

// removeOldest removes the oldest jobs, at most a number of them and sealsMax. It changes the index first, so that no
// reader looks for a file that is gone. A process that is killed in between leaves files, which the next start lists
// again. If the disk is too full to change the index, the files are removed first.
func (h *History) removeOldest(n int) (int, error) {
	var ids []scheduler.JobID
	for _, e := range h.index.Load().Oldest(min(n, sealsMax)) {
		ids = append(ids, e.ID)
	}
	err := h.unlist(ids...)
	full := eventlog.IsFull(err)
	if err != nil && !full {
		return 0, err
	}
	defer h.notify(listChanged)
	var wrong []error
	for _, id := range ids {
		h.removeCopies(id)
		if err := os.Remove(h.files.path(id)); err != nil && !errors.Is(err, os.ErrNotExist) {
			wrong = append(wrong, err)
		}
		wrong = append(wrong, h.tails.RemoveJob(id))
	}
	if full {
		wrong = append(wrong, h.unlist(ids...))
	}
	return len(ids), errors.Join(wrong...)
}

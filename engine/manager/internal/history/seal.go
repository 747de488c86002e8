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

// seal writes the files of jobs that ended, and has the index list them. What can't be written is
// tried again with the next.
func (h *History) seal() {
	if h.o.Now().Before(h.again) {
		return
	}
	for len(h.ending) > 0 {
		batch := h.ending[:min(len(h.ending), sealsMax)]
		entries, ids, err := h.writeFiles(batch)
		if err != nil {
			h.behind(err)
			return
		}
		if err := h.makingRoom(func() error { return h.onIndex(func(x *index.Index) error { return x.PutEntries(entries) }) }); err != nil {
			h.behind(err)
			return
		}
		h.ending = h.ending[len(batch):]
		h.tidy(h.journal.forget(ids))
		h.mu.Lock()
		for _, id := range ids {
			delete(h.ended, id)
		}
		h.touched(stateChanged)
		h.mu.Unlock()
	}
	h.keepBounds()
}

// writeFiles writes the files of jobs that ended, writesMax at once.
func (h *History) writeFiles(ended []ending) (entries []index.Entry, ids []scheduler.JobID, err error) {
	for some := range slices.Chunk(ended, writesMax) {
		list := make([]sealed, len(some))
		for i, e := range some {
			j := h.journal.whole(h.journal.job(e.id))
			j.Record, j.Status = e.record, e.status
			if list[i], err = h.files.sealJob(j); err != nil {
				return nil, nil, err
			}
			entries, ids = append(entries, list[i].entry), append(ids, e.id)
		}
		if err := h.makingRoom(func() error { return h.files.writeAll(list) }); err != nil {
			return nil, nil, err
		}
	}
	return entries, ids, nil
}

// write has everything durable that was taken in, and tells who waits for it.
func (h *History) write() {
	record := h.applied
	if h.seal(); len(h.ending) > 0 || h.o.Now().Before(h.again) {
		return
	}
	if err := h.makingRoom(func() error { return h.journal.write(record) }); err != nil {
		h.behind(err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.state.Behind.IsZero() {
		h.o.Log.Info("history can be written again", "behindSince", h.state.Behind)
		h.touched(stateChanged)
	}
	h.state.Behind, h.state.Why, h.state.Record = time.Time{}, nil, record
	asked := h.asked[:0]
	for _, w := range h.asked {
		if w.record > record {
			asked = append(asked, w)
			continue
		}
		close(w.told)
	}
	h.asked = asked
}

// behind notes that history can't be written.
func (h *History) behind(err error) {
	h.again = h.o.Now().Add(tryAgain)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state.Why = err
	if h.state.Behind.IsZero() {
		h.state.Behind = h.o.Now()
		h.touched(stateChanged)
		h.o.Log.Error("history can't be written: scheduling goes on, and what does not fit into memory will be missing", "error", err, "remedy", "free space there", "folder", h.o.Folder)
	}
}

func (h *History) isBehind() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.state.Behind.IsZero()
}

// roomTries is how often the oldest jobs are removed for one write on a full disk, roomJobs how
// many at first; each time twice as many.
const (
	roomTries = 10
	roomJobs  = 8
)

// tryAgain is the time to another try after history could not be written.
const tryAgain = time.Second

// makingRoom does something. On a full disk the oldest jobs go until there is room, or nothing is left.
func (h *History) makingRoom(do func() error) error {
	for try := range roomTries {
		err := do()
		if err == nil || !eventlog.IsFull(err) {
			return err
		}
		n, wrong := h.removeOldest(roomJobs << try)
		h.freed(n)
		if n == 0 || wrong != nil {
			return errors.Join(err, wrong)
		}
		h.o.Log.Warn("history's disk is full: the oldest jobs were removed", "jobs", n, "folder", h.o.Folder)
	}
	return do()
}

// freed counts jobs that went since the disk is full.
func (h *History) freed(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state.Freed += uint64(n)
	if n > 0 {
		h.state.FreedAt = h.o.Now()
		h.touched(stateChanged)
	}
}

// MakeRoom removes the oldest jobs that ended, so many at most, for another that finds no room on history's disk. It
// returns how many went; 0: none is left. The error is that of ctx, or says that history is closed, or what could not
// be removed. Safe for concurrent use.
func (h *History) MakeRoom(ctx context.Context, jobs int) (n int, err error) {
	var wrong error
	err = h.ask(ctx, func() {
		n, wrong = h.removeOldest(jobs)
		h.freed(n)
	})
	return n, errors.Join(err, wrong)
}

// keepBounds removes the oldest jobs, until what is left is within the bounds.
func (h *History) keepBounds() {
	for {
		jobs, bytes := h.index.Load().Totals()
		if jobs == 0 {
			return
		}
		if h.mirror != nil { // what no file here has goes first
			h.mirror.KeepOlder(max(h.o.BytesMax-bytes-h.tails.Bytes(), 0))
		}
		over := max(jobs-h.o.JobsMax, h.tooMuch(bytes+h.tails.Bytes()-h.o.BytesMax))
		if over <= 0 {
			over = h.tooOld()
		}
		if over == 0 {
			return
		}
		if n, err := h.removeOldest(over); n == 0 || err != nil {
			h.tidy(err)
			return
		}
	}
}

// tooMuch says how many of the oldest jobs have so many bytes.
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

// tooOld says how many of the oldest jobs ended longer ago than they are kept.
func (h *History) tooOld() (n int) {
	until := h.o.Now().Add(-h.o.KeepFor).UnixNano()
	for _, e := range h.index.Load().Oldest(sealsMax) {
		if e.At < until {
			n++
		}
	}
	return n
}

// removeOldest removes the history of so many jobs, sealsMax at most. The index goes first, so that nobody looks for
// a file that is gone; a life that ends in between leaves files, which the next one lists. A disk may be too full for that: then
// the files make room.
func (h *History) removeOldest(n int) (int, error) {
	var ids []scheduler.JobID
	for _, e := range h.index.Load().Oldest(min(n, sealsMax)) {
		ids = append(ids, e.ID)
	}
	unlist := func() error { return h.onIndex(func(x *index.Index) error { return x.Remove(ids) }) }
	err := unlist()
	full := eventlog.IsFull(err)
	if err != nil && !full {
		return 0, err
	}
	defer h.touch(listChanged)
	var wrong []error
	for _, id := range ids {
		h.copiesGone(id)
		if err := os.Remove(h.files.path(id)); err != nil && !errors.Is(err, os.ErrNotExist) {
			wrong = append(wrong, err)
		}
		wrong = append(wrong, h.tails.RemoveJob(id))
	}
	if full {
		wrong = append(wrong, unlist())
	}
	return len(ids), errors.Join(wrong...)
}

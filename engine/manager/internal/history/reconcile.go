package history

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/index"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// remakeBatch is how many files are added to the index in one transaction.
	remakeBatch = 500
	// remakeTellEach is the time between lines of the log about the progress.
	remakeTellEach = 10 * time.Second
)

func (h *History) indexPath() string { return filepath.Join(h.o.Folder, "index.db") }

// openIndex opens the index. A damaged index is removed: reconcile rebuilds it.
func (h *History) openIndex() error {
	x, err := index.Open(h.indexPath())
	if errors.Is(err, index.ErrDamaged) {
		h.o.Log.Error("the index of history is damaged: it is made again of the jobs' files", "error", err)
		if err := os.Remove(h.indexPath()); err != nil {
			return err
		}
		x, err = index.Open(h.indexPath())
	}
	if err == nil {
		h.index.Store(x)
	}
	return err
}

// remakeIndex replaces an index that turned out to be damaged by a new one, which is filled in the background.
func (h *History) remakeIndex(old *index.Index) error {
	h.remaking.Lock()
	defer h.remaking.Unlock()
	if h.index.Load() != old {
		return nil // another goroutine replaced it
	}
	h.o.Log.Error("the index of history is damaged: it is made again of the jobs' files")
	old.Close()
	if err := os.Remove(h.indexPath()); err != nil {
		return err
	}
	x, err := index.Open(h.indexPath())
	if err != nil {
		return err
	}
	h.index.Store(x)
	h.done.Go(h.reconcile)
	return nil
}

// reconcile compares the index with the names of files. It adds the jobs that the index lacks, and removes those that
// have no file. So it also fills a new index.
func (h *History) reconcile() {
	known := h.index.Load().IDs()
	there, err := h.files.ids()
	if err != nil {
		h.o.Log.Error("history: the index can't be held against the jobs' files", "error", err)
		return
	}
	var gone, missing []scheduler.JobID
	for _, id := range known {
		if !there[id] {
			gone = append(gone, id)
		}
		delete(there, id)
	}
	for id := range there {
		missing = append(missing, id)
	}
	slices.Sort(missing)
	if err := h.unlist(gone...); err != nil {
		h.o.Log.Error("history: jobs without files stay in the index", "error", err)
	}
	if len(gone) > 0 {
		h.notify(listChanged)
	}
	h.addToIndex(missing)
}

// addToIndex adds jobs to the index, by their files.
func (h *History) addToIndex(ids []scheduler.JobID) {
	told, done := h.o.Now(), 0
	for batch := range slices.Chunk(ids, remakeBatch) {
		var entries []index.Entry
		for _, id := range batch {
			select {
			case <-h.closes:
				return
			default:
			}
			e, err := h.files.entry(id)
			var damage *jobfile.DamageError
			switch {
			case err == nil:
				entries = append(entries, e)
			case errors.As(err, &damage):
				h.damaged(err)
			case !errors.Is(err, os.ErrNotExist): // the job was removed meanwhile
				h.o.Log.Error("history: a job's file can't be read", "error", err)
			}
		}
		if err := h.onIndex(func(x *index.Index) error { return x.PutEntries(entries) }); err != nil {
			h.o.Log.Error("history: the index can't be made", "error", err)
			return
		}
		h.notify(listChanged)
		done += len(batch)
		if now := h.o.Now(); now.Sub(told) >= remakeTellEach {
			told = now
			h.o.Log.Info("the index of history is being made of the jobs' files", "done", done, "of", len(ids))
		}
	}
	if done > remakeBatch {
		h.o.Log.Info("the index of history was made of the jobs' files", "jobs", done)
	}
}

package history

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/backup"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/logarchive"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Folders below history's that are copied to another store.
const (
	jobsFolder  = "jobs"
	tailsFolder = "tails"
)

// openMirror starts the copy on another store, if Options name one.
func (h *History) openMirror() (err error) {
	if h.o.Store == "" {
		return nil
	}
	h.mirror, err = backup.Start(backup.Options{
		Local: h.o.Folder, Folders: map[string]string{jobsFolder: fileSuffix, tailsFolder: logarchive.Suffix}, GrowOnly: []string{tailsFolder}, URL: h.o.Store, Restored: h.addRestored, Changed: func() { h.notify(stateChanged) }, Log: h.o.Log,
	})
	if err != nil {
		return fmt.Errorf("manager.history.store: %w", err)
	}
	return nil
}

// addRestored adds a file that was restored from the store.
func (h *History) addRestored(name string) {
	switch folder, base := path.Split(name); folder {
	case jobsFolder + "/":
		var id uint64
		if _, err := fmt.Sscanf(base, "%d"+fileSuffix, &id); err == nil {
			h.addToIndex([]scheduler.JobID{scheduler.JobID(id)})
		}
	case tailsFolder + "/":
		h.tails.AddFile(strings.TrimPrefix(name, folder))
	}
}

// removeCopy removes the copy of a job's file from the store.
func (h *History) removeCopy(id scheduler.JobID) {
	if h.mirror != nil {
		h.mirror.Remove(jobsFolder + "/" + path.Base(h.files.path(id)))
	}
}

// LastJob returns the largest number of a job in this history or on the store. If the error says that the store can't be
// read, the number is that of this history.
func (h *History) LastJob(ctx context.Context) (last scheduler.JobID, err error) {
	ids, err := h.files.ids()
	if err != nil {
		return 0, fmt.Errorf("history: %w", err)
	}
	if err := h.call(ctx, func() {
		for id := range h.journal.jobs {
			ids[id] = true
		}
	}); err != nil {
		return 0, err
	}
	for _, k := range h.tails.Jobs() {
		ids[k.Job] = true
	}
	for id := range ids {
		last = max(last, id)
	}
	if h.mirror == nil {
		return last, nil
	}
	names, err := h.mirror.Names(ctx)
	for _, name := range names {
		var id scheduler.JobID
		if _, err := fmt.Sscanf(path.Base(name), "%d", (*uint64)(&id)); err == nil {
			last = max(last, id)
		}
	}
	if err != nil {
		err = fmt.Errorf("history's store %s: %w", h.o.Store, err)
	}
	return last, err
}

// removeCopies removes the copies of all files of a job from the store.
func (h *History) removeCopies(id scheduler.JobID) {
	if h.mirror == nil {
		return
	}
	h.removeCopy(id)
	for _, name := range h.tails.Names(id) {
		h.mirror.Remove(tailsFolder + "/" + name)
	}
}

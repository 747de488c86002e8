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

// openMirror begins to keep a copy on another store, if there is to be one.
func (h *History) openMirror() (err error) {
	if h.o.Store == "" {
		return nil
	}
	h.mirror, err = backup.Start(backup.Options{
		Local: h.o.Folder, Folders: map[string]string{jobsFolder: fileSuffix, tailsFolder: logarchive.Suffix}, Grow: []string{tailsFolder}, URL: h.o.Store, Took: h.brought, Changed: func() { h.touch(stateChanged) }, Log: h.o.Log,
	})
	if err != nil {
		return fmt.Errorf("manager.history.store: %w", err)
	}
	return nil
}

// brought takes in a file that came back from the store.
func (h *History) brought(name string) {
	switch folder, base := path.Split(name); folder {
	case jobsFolder + "/":
		var id uint64
		if _, err := fmt.Sscanf(base, "%d"+fileSuffix, &id); err == nil {
			h.takeIn([]scheduler.JobID{scheduler.JobID(id)})
		}
	case tailsFolder + "/":
		h.tails.Took(strings.TrimPrefix(name, folder))
	}
}

// copyGone has the copy of a job's file removed.
func (h *History) copyGone(id scheduler.JobID) {
	if h.mirror != nil {
		h.mirror.Gone(jobsFolder + "/" + path.Base(h.files.path(id)))
	}
}

// LastJob is the largest number of a job of which there is something here or on the store. The error says
// that the store can't be read: the number is of what is here.
func (h *History) LastJob(ctx context.Context) (last scheduler.JobID, err error) {
	ids, err := h.files.ids()
	if err != nil {
		return 0, fmt.Errorf("history: %w", err)
	}
	if err := h.ask(ctx, func() {
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

// copiesGone has the copies of a job's files removed: the job is beyond history's bounds.
func (h *History) copiesGone(id scheduler.JobID) {
	if h.mirror == nil {
		return
	}
	h.copyGone(id)
	for _, name := range h.tails.Names(id) {
		h.mirror.Gone(tailsFolder + "/" + name)
	}
}

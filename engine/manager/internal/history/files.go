package history

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/index"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// files are the files of jobs that ended, one for each.
type files struct {
	folder string
	write  func(path string, content []byte) error
}

const (
	fileSuffix  = ".history"
	asideSuffix = ".aside"
)

func (f *files) path(id scheduler.JobID) string {
	return filepath.Join(f.folder, fmt.Sprintf("%d%s", uint64(id), fileSuffix))
}

// asidePath is the path of a job's file while the job returns to the journal.
func (f *files) asidePath(id scheduler.JobID) string {
	return filepath.Join(f.folder, fmt.Sprintf("%d%s", uint64(id), asideSuffix))
}

// damagedPath is the path of such a file if it could not be read.
func (f *files) damagedPath(id scheduler.JobID) string {
	return filepath.Join(f.folder, "damaged-"+filepath.Base(f.path(id)))
}

func (f *files) has(id scheduler.JobID) bool {
	_, err := os.Stat(f.path(id))
	return err == nil
}

// ids lists the jobs that have files.
func (f *files) ids() (map[scheduler.JobID]bool, error) {
	d, err := os.Open(f.folder)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	ids := make(map[scheduler.JobID]bool, len(names))
	for _, name := range names {
		var id uint64
		if _, err := fmt.Sscanf(name, "%d"+fileSuffix, &id); err == nil && filepath.Base(f.path(scheduler.JobID(id))) == name {
			ids[scheduler.JobID(id)] = true
		}
	}
	return ids, err
}

// refuseNFS returns an error for a folder on NFS. The index and the samples are mapped into memory: there a server that
// is away stops the manager, and a second machine could change them.
func (h *History) refuseNFS(folder string) error {
	var disk unix.Statfs_t
	if err := h.o.statfs(folder, &disk); err != nil {
		return &os.PathError{Op: "statfs", Path: folder, Err: err}
	}
	if disk.Type == unix.NFS_SUPER_MAGIC {
		return fmt.Errorf("%s is on NFS, where history can't be kept: set manager.history.folder to a folder on a disk of this machine (manager.history.store keeps a copy on another store)", folder)
	}
	return nil
}

// sealed is a job's file that is to be written, and its entry in the index.
type sealed struct {
	entry   index.Entry
	content []byte
}

// sealJob makes a job's file in memory.
func (f *files) sealJob(j *jobfile.Job) (s sealed, err error) {
	if s.content, err = jobfile.Encode(j); err != nil {
		return s, err
	}
	r, err := jobfile.Decode(f.path(j.ID), s.content)
	if err == nil {
		s.entry, err = f.entryOf(j.ID, r)
	}
	return s, err
}

// writeAll writes files at the same time: a disk syncs many of them for the price of one. After an error some are there.
func (f *files) writeAll(list []sealed) error {
	var writing errgroup.Group
	for _, s := range list {
		writing.Go(func() error { return f.write(f.path(s.entry.ID()), s.content) })
	}
	return writing.Wait()
}

// entry makes the index's entry of a job's file.
func (f *files) entry(id scheduler.JobID) (e index.Entry, err error) {
	r, err := f.open(id)
	if err != nil {
		return e, err
	}
	defer r.Close()
	return f.entryOf(id, r)
}

func (f *files) entryOf(id scheduler.JobID, r *jobfile.Reader) (e index.Entry, err error) {
	s, err := r.Status()
	if err == nil && s.GetSummary().GetJob() != uint64(id) {
		err = f.wrongJobError(id)
	}
	if err != nil {
		return e, err
	}
	kept, of := r.Kept()
	return index.Entry{Summary: s.Summary, Record: r.Record(), Bytes: r.Size(), Attempts: of, Kept: kept}, nil
}

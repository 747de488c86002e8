// Package historycheck compares a manager's history with its event log. Tests that kill managers
// use it.
//
//	want, files, err := historycheck.Rebuild(ctx, "data/manager", scratch)
//	got, err := historycheck.Jobs(ctx, "data/manager/history")
package historycheck

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/index"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/manager/recovery"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Job is the whole history of an ended job.
type Job = jobfile.Job

// Rebuild writes a new history into an empty folder, by replaying the event log of a manager's data
// once. It returns that history, and the number of the log's files. The log must still have its
// first record.
func Rebuild(ctx context.Context, data, folder string) (jobs map[scheduler.JobID]*Job, files int, err error) {
	names, err := eventlog.Files(filepath.Join(data, "log"))
	if err != nil {
		return nil, 0, err
	}
	h, err := history.Open(history.Options{Folder: folder, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, 0, err
	}
	r := &rebuild{history: h, graphs: recovery.OpenGraphs(filepath.Join(data, "graphs"), slog.New(slog.DiscardHandler))}
	for _, name := range names {
		if err := r.file(name); err != nil {
			_ = h.Close() // the first error counts
			return nil, 0, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := h.Sync(ctx, r.last); err != nil {
		_ = h.Close()
		return nil, 0, err
	}
	if err := h.Close(); err != nil {
		return nil, 0, err
	}
	jobs, err = Jobs(ctx, folder)
	return jobs, len(names), err
}

// rebuild replays a log into a history.
type rebuild struct {
	history *history.History
	graphs  *recovery.GraphStore
	core    *core.Core // nil before the first file
	last    uint64     // the last replayed record
}

// file replays a file of the log. It may begin with copies of the last records of the file before.
func (r *rebuild) file(name string) error {
	s, err := eventlog.ReadSegment(name)
	if err != nil {
		return err
	}
	if r.core == nil {
		if s.First != 1 {
			return fmt.Errorf("the log begins with record %d, want 1", s.First)
		}
		if r.core, err = core.RestoreParts(s.Checkpoint, r.graphs.Load); err != nil {
			return err
		}
		r.core.EnableChanges()
		r.history.BeginAt(0, &core.Changes{})
	}
	for i, record := range s.Records {
		n := s.First + uint64(i)
		if n <= r.last {
			continue
		}
		r.last = n
		batch := &wire.Batch{}
		if err := proto.Unmarshal(record, batch); err != nil {
			return err
		}
		r.history.WaitForRoom()
		for _, action := range r.core.Step(batch) {
			if f, yes := action.(core.Changes); yes {
				r.history.TakeChanges(n, &f)
			}
		}
	}
	return nil
}

// indexTick is the period of Jobs' checks whether the index has all files.
const indexTick = 10 * time.Millisecond

// Jobs reads all ended jobs from a folder of history. It waits until the index has each job's file, or ctx ends. It
// returns an error if history is damaged or lacks rows.
func Jobs(ctx context.Context, folder string) (map[scheduler.JobID]*Job, error) {
	h, err := history.Open(history.Options{Folder: folder, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	sealed, err := filepath.Glob(filepath.Join(folder, "jobs", "*.history"))
	if err != nil {
		return nil, err
	}
	t := time.NewTicker(indexTick)
	defer t.Stop()
	for {
		all, err := read(ctx, h, len(sealed)+1)
		if err != nil {
			return nil, err
		}
		if s := h.State(); len(s.Damaged) > 0 || s.Err != nil || s.Missed > 0 {
			return nil, fmt.Errorf("history is incomplete: %+v", s)
		}
		if len(all) == len(sealed) {
			return all, nil
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("the index has %d of %d jobs: %w", len(all), len(sealed), ctx.Err())
		}
	}
}

// read reads the jobs in the index, at most max of them.
func read(ctx context.Context, h *history.History, max int) (map[scheduler.JobID]*Job, error) {
	jobs, _, err := h.List(index.Query{Limit: max})
	if err != nil {
		return nil, err
	}
	all := map[scheduler.JobID]*Job{}
	for _, j := range jobs {
		id := scheduler.JobID(j.GetJob())
		f, err := h.Open(ctx, id)
		if err != nil {
			return nil, err
		}
		all[id], err = f.Whole()
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/index"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ErrUnknown says that history has no ended job of an id. ErrNotYet says that the job's file is not written, because
// history can't be written now.
var (
	ErrUnknown = errors.New("history has no such job")
	ErrNotYet  = errors.New("history could not be written yet")
)

// openWait is how long Open waits for a file that is not written yet.
const openWait = 2 * time.Second

// Open opens the file of a job that ended. It waits openWait for a file that is not written yet. The error is ErrUnknown,
// ErrNotYet, a jobfile.DamageError, or that of ctx.
func (h *History) Open(ctx context.Context, id scheduler.JobID) (*jobfile.Reader, error) {
	if e, ending := h.endingOf(id); ending {
		if err := h.awaitSealed(ctx, e.record); err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
	}
	r, err := h.files.open(id)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", id, ErrUnknown)
	}
	h.NoteDamage(err)
	return r, err
}

// open opens a job's file. The file of another job under this name is a jobfile.DamageError.
func (f *files) open(id scheduler.JobID) (*jobfile.Reader, error) {
	r, err := jobfile.Open(f.path(id))
	if err == nil && r.Job() != id {
		r.Close()
		return nil, f.wrongJobError(id)
	}
	return r, err
}

// wrongJobError is the error of a file that has another job than the one in its name.
func (f *files) wrongJobError(id scheduler.JobID) error {
	return &jobfile.DamageError{Path: f.path(id), Why: fmt.Sprintf("it is not the history of %s, as its name says", id)}
}

// GoneError returns the error for a job that is in the index and has no file.
func (h *History) GoneError(id scheduler.JobID) error {
	return &jobfile.DamageError{Path: h.files.path(id), Gone: true}
}

// awaitSealed waits until history is durable up to a record. If history can't be written, it returns at once.
func (h *History) awaitSealed(ctx context.Context, record uint64) error {
	if why := h.State().Err; why != nil {
		return fmt.Errorf("%w: %w", ErrNotYet, why)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, openWait, ErrNotYet)
	defer cancel()
	return h.Sync(ctx, record)
}

// Status returns the last status of an ended job whose file is not written yet, without attempts; nil for all other jobs.
func (h *History) Status(id scheduler.JobID) *wire.JobStatus {
	e, ending := h.endingOf(id)
	if !ending {
		return nil
	}
	return jobfile.WithoutAttempts(e.status)
}

// Summary returns a job's summary in the index; nil if the index does not have the job.
func (h *History) Summary(id scheduler.JobID) (s *wire.JobSummary, err error) {
	err = h.onIndex(func(x *index.Index) error {
		e, err := x.Get(id)
		if e != nil {
			s = e.Summary
		}
		return err
	})
	return s, err
}

func (h *History) endingOf(id scheduler.JobID) (e endedJob, there bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, there = h.unsealed[id]
	return e, there
}

// Ending lists the ended jobs that List may not have yet, in order of id. A later List has every ended job that Ending
// does not have.
func (h *History) Ending() []*wire.JobSummary {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*wire.JobSummary, 0, len(h.unsealed))
	for _, e := range h.unsealed {
		list = append(list, e.status.GetSummary())
	}
	slices.SortFunc(list, func(a, b *wire.JobSummary) int { return cmp.Compare(a.GetJob(), b.GetJob()) })
	return list
}

// List lists jobs that ended, the largest id first: see index.Query.
func (h *History) List(q index.Query) (jobs []*wire.JobSummary, f index.Found, err error) {
	err = h.onIndex(func(x *index.Index) error {
		f = x.List(q)
		entries, err := x.Entries(f.IDs)
		for _, e := range entries {
			jobs = append(jobs, e.Summary)
		}
		return err
	})
	return jobs, f, err
}

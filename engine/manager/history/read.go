package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/hamadryad/hamadryad/engine/manager/history/file"
	"github.com/hamadryad/hamadryad/engine/manager/history/index"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// ErrUnknown says that history has nothing of a job that ended under an id.
var ErrUnknown = errors.New("history has no such job")

// Open opens the file of a job that ended. The error is ErrUnknown, a file.DamageError, or that of
// ctx while the file is being written.
func (h *History) Open(ctx context.Context, id scheduler.JobID) (*file.Reader, error) {
	h.mu.Lock()
	e, ending := h.ended[id]
	h.mu.Unlock()
	if ending {
		if err := h.Sync(ctx, e.record); err != nil {
			return nil, err
		}
	}
	r, err := file.Open(h.files.path(id))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", id, ErrUnknown)
	}
	return r, err
}

// Status is a job's last status, without attempts. The error is that of Open.
func (h *History) Status(id scheduler.JobID) (*wire.JobStatus, error) {
	h.mu.Lock()
	e, ending := h.ended[id]
	h.mu.Unlock()
	if ending {
		return withoutAttempts(e.status), nil
	}
	r, err := h.Open(context.Background(), id)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Status()
}

// Ending lists the jobs that ended and that List does not have yet, in order of their ends.
func (h *History) Ending() []*wire.JobSummary {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []*wire.JobSummary
	for _, e := range h.ended {
		list = append(list, e.status.GetSummary())
	}
	slices.SortFunc(list, func(a, b *wire.JobSummary) int {
		return cmp.Or(cmp.Compare(a.GetEnded(), b.GetEnded()), cmp.Compare(a.GetJob(), b.GetJob()))
	})
	return list
}

// List lists jobs that ended: index.Index.List. It lacks those that Ending lists.
func (h *History) List(q index.Query) (p index.Page, err error) {
	err = h.onIndex(func(x *index.Index) (err error) { p, err = x.List(q); return err })
	return p, err
}

func withoutAttempts(s *wire.JobStatus) *wire.JobStatus {
	return &wire.JobStatus{
		Summary: s.Summary, Stages: s.Stages, Failure: s.Failure, Counters: s.Counters, Waiting: s.Waiting, Read: s.Read,
		LocalAttempts: s.LocalAttempts, Notes: s.Notes, Outputs: s.Outputs, Kept: s.Kept,
	}
}

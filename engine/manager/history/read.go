package history

import (
	"context"
	"errors"
	"fmt"
	"os"

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

// List lists jobs that ended: index.Index.List. Those of the last second may be missing still.
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

package history

import (
	"context"
	"errors"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Waits are the reasons why a job waited, with their times.
type Waits struct {
	List    []jobfile.Wait // in order of time
	Dropped int            // later ones that were dropped, beyond waitsMax
	Lacks   []string       // what history lacks of the job, in words
}

// errClosed is the error of a call after Close.
var errClosed = errors.New("history is closed")

// Waits returns why a job waited, live or ended. The error is that of Open, or that of ctx.
func (h *History) Waits(ctx context.Context, id scheduler.JobID) (w Waits, err error) {
	lives := false
	if err := h.call(ctx, func() {
		if j := h.journal.jobs[id]; j != nil {
			w, lives = h.journal.waits(j), true
		}
	}); err != nil || lives {
		return w, err
	}
	r, err := h.Open(ctx, id)
	if err != nil {
		return w, err
	}
	defer r.Close()
	c, err := r.Course()
	return Waits{c.Waits, c.WaitsDropped, c.Lacks}, err
}

// call has the goroutine run call a function, and waits for it. The error is errClosed, or that of ctx.
func (h *History) call(ctx context.Context, do func()) error {
	answered := make(chan struct{})
	select {
	case h.calls <- func() { defer close(answered); do() }:
		<-answered
		return nil
	case <-h.closes:
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// waits joins a live job's reasons. The error of a chunk that can't be read is among Lacks.
func (g *journal) waits(j *liveJob) (w Waits) {
	add := func(c *jobfile.Course) {
		w.List, w.Dropped, w.Lacks = append(w.List, c.Waits...), w.Dropped+c.WaitsDropped, append(w.Lacks, c.Lacks...)
	}
	for _, at := range j.chunks {
		if at.Waits == 0 {
			continue
		}
		var c jobfile.Course
		r, err := g.chunk(at)
		if err == nil {
			c, err = r.Course()
		}
		if err != nil {
			w.Lacks = append(w.Lacks, err.Error())
			continue
		}
		add(&c)
	}
	add(&j.course)
	return w
}

package history

import (
	"context"
	"errors"

	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Waits are the reasons why a job waited, over time.
type Waits struct {
	List    []jobfile.Wait // in order of time
	Dropped int            // later ones, beyond the bound
	Lacks   []string       // of what history lacks, in words
}

// errClosed is what a question meets that comes too late.
var errClosed = errors.New("history is closed")

// Waits tells why a job waited, one that lives too. The error is ErrUnknown, that of Open, or that of ctx.
func (h *History) Waits(ctx context.Context, id scheduler.JobID) (w Waits, err error) {
	lives := false
	if err := h.ask(ctx, func() {
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

// ask has the goroutine run do something, and waits for it. The error is errClosed, or that of ctx.
func (h *History) ask(ctx context.Context, do func()) error {
	answered := make(chan struct{})
	select {
	case h.questions <- func() { defer close(answered); do() }:
		<-answered
		return nil
	case <-h.closes:
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// waits gathers a job's reasons. A chunk that can't be read is told as a lack.
func (g *journal) waits(j *live) (w Waits) {
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

package history

import (
	"context"
	"errors"

	"github.com/hamadryad/hamadryad/engine/manager/history/file"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Waits are the reasons why a job waited, over time.
type Waits struct {
	List    []file.Wait // in order of time
	Dropped int         // later ones, beyond the bound
	Lacks   []string    // of what history lacks, in words
}

// errClosed is what a question meets that comes too late.
var errClosed = errors.New("history is closed")

// Waits tells why a job waited, one that lives too. The error is ErrUnknown, that of Open, or that of ctx.
func (h *History) Waits(ctx context.Context, id scheduler.JobID) (w Waits, err error) {
	lives, answered := false, make(chan struct{})
	ask := func() {
		defer close(answered)
		if j := h.journal.jobs[id]; j != nil {
			w, lives = h.journal.waits(j), true
		}
	}
	select {
	case h.questions <- ask:
		<-answered
	case <-h.closes:
		return w, errClosed
	case <-ctx.Done():
		return w, context.Cause(ctx)
	}
	if lives {
		return w, nil
	}
	r, err := h.Open(ctx, id)
	if err != nil {
		return w, err
	}
	defer r.Close()
	c, err := r.Course()
	return Waits{c.Waits, c.WaitsDropped, c.Lacks}, err
}

// waits gathers a job's reasons. A chunk that can't be read is told as a lack.
func (g *journal) waits(j *live) (w Waits) {
	add := func(c *file.Course) {
		w.List, w.Dropped, w.Lacks = append(w.List, c.Waits...), w.Dropped+c.WaitsDropped, append(w.Lacks, c.Lacks...)
	}
	for _, at := range j.chunks {
		if at.Waits == 0 {
			continue
		}
		var c file.Course
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

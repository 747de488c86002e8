package worker

import (
	"context"
	"fmt"
	"sync"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/internal/failure"
)

// commit is the group's single commit grant. Safe for concurrent use.
type commit struct {
	attempt uint64
	reports *reports

	asks    sync.Once
	settles sync.Once
	settled chan struct{} // closed when the manager has answered
	err     error         // after settled: why the commit is refused
}

func newCommit(attempt uint64, r *reports) *commit {
	return &commit{attempt: attempt, reports: r, settled: make(chan struct{})}
}

// ask asks the manager for the group's grant and waits for the answer, or until the attempt is
// over. The launcher repeats the question when the manager restarts. An attempt that the manager no
// longer knows is stopped, which ends the wait.
func (c *commit) ask(ctx, attempt context.Context) error {
	c.asks.Do(func() {
		c.reports.report(&wire.Report{What: &wire.Report_Commit{Commit: c.attempt}})
	})
	select {
	case <-c.settled:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	case <-attempt.Done():
		return context.Cause(attempt)
	}
}

// setVerdict takes in the manager's answer. Only the first counts.
func (c *commit) setVerdict(verdict verdict) {
	c.settles.Do(func() {
		if !verdict.GetGranted() {
			c.err = fmt.Errorf("%w: %s", failure.ErrNoGrant, verdict.GetReason())
		}
		close(c.settled)
	})
}

type verdict interface {
	GetGranted() bool
	GetReason() string
}

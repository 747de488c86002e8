package worker

import (
	"context"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// askCommit asks the manager for the group's grant and waits for its word. The
// launcher repeats the question when the manager restarts; an attempt that the
// manager no longer knows is stopped, which ends the wait.
func (g *group) askCommit(ctx context.Context) error {
	g.commit.once.Do(func() {
		g.w.report(&wire.Report{What: &wire.Report_Commit{Commit: g.start.Attempt}})
	})
	select {
	case <-g.commit.settled:
		return g.commit.err
	case <-ctx.Done():
		return ctx.Err()
	case <-g.ctx.Done():
		return context.Cause(g.ctx)
	}
}

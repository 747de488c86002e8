package core

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// While the core steps, everything else waits. So long work is done in slices: the start and end
// of a job with very many bundles, a snapshot of them, an answer with very many decisions, very
// many due timers. A step does Settings.StepWork of it and leaves the rest in the state, as a
// cursor. NextWake then returns now, so the next steps do the rest, together with new inputs.

// continueWork continues what earlier steps left unfinished.
func (c *Core) continueWork() {
	if c.state.Policy.PendingAnswer() != nil {
		c.rounds.ApplyAnswer()
	}
	for _, id := range slices.Clone(c.state.Cluster.PendingWork()) {
		if j := c.state.Cluster.Jobs.Get(id); j.Phase() == state.JobWaiting {
			c.lifecycle.Admission.EndWait(j)
		} else {
			c.lifecycle.Jobs.Continue(j)
		}
	}
	c.outbound.Events.BuildSnapshot()
}

// waitsForRound says whether all pending work is of jobs that offer no more bundles until the
// next round has left.
func (c *Core) waitsForRound() bool {
	return c.state.Policy.Backlogged(c.state.Step.Set.RoundEvents) && !slices.ContainsFunc(c.state.Cluster.PendingWork(), func(id scheduler.JobID) bool {
		j := c.state.Cluster.Jobs.Get(id)
		return j.Phase() != state.JobRunning || j.Inputs.Updating()
	})
}

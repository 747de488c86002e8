package core

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// While the core steps, everybody waits. What is long by nature is done in slices: the
// start and the end of a job with very many bundles, a snapshot of them, an answer with very many
// decisions, very many timers that are due at once. A step does Settings.StepWork of
// it and leaves the rest in the state, as a cursor. NextWake is then at once, so the
// rest is done in the steps that follow, together with what came meanwhile.

// continueWork goes on with what earlier steps left.
func (c *Core) continueWork() {
	if c.state.Policy.PendingAnswer() != nil {
		c.rounds.ApplyAnswer()
	}
	for _, id := range slices.Clone(c.state.Cluster.PendingWork()) {
		c.lifecycle.Jobs.Continue(c.state.Cluster.Jobs.Get(id))
	}
	c.outbound.Events.BuildSnapshot()
}

// waitsForRound says whether all that a later step has to go on with are jobs that offer
// no more bundles until the next round has left.
func (c *Core) waitsForRound() bool {
	return c.state.Policy.Backlogged(c.state.Step.Set.RoundEvents) && !slices.ContainsFunc(c.state.Cluster.PendingWork(), func(id scheduler.JobID) bool {
		j := c.state.Cluster.Jobs.Get(id)
		return j.Phase() != state.JobRunning || j.Inputs.Updating()
	})
}

package lifecycle

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// InputLost takes a reader's word that it can't read a source.
func (as *Attempts) InputLost(a *state.Attempt, m *wire.InputLost) {
	j := a.BundleAttempt.Bundle.Job
	k := dataflow.Key{Conn: int32(m.Connection), From: int32(m.From)}
	if a.Stop() != nil || j.Phase() != state.JobRunning || !j.Inputs.Reads(a.BundleAttempt.Bundle.Nodes(a.Group), k) {
		return
	}
	as.dispatch.Miss(a, k)
	b, i := j.GroupOf(j.Inputs.Writer(k))
	there := j.Inputs.There(k)
	if there && uint64(b.LastCommits()[i].Attempt) != m.Producer && m.Producer != 0 {
		as.dispatch.Feeds.SupplyTo(&j.Inputs, &a.Reads, k, as.state.Source(j)) // made again in the meantime
		return
	}
	if there {
		p := b.LastCommits()[i]
		as.state.NoteJob(j, fmt.Sprintf("output of %s (attempt-%d) can't be read: %s; it is made again", j.Describe(b, i), p.Attempt, m.Reason))
		as.step.LogReported(step.Warn, "a stored output can't be read and is made again", "job", j.ID.String(), "attempt", fmt.Sprint(p.Attempt),
			"damaged", fmt.Sprint(m.Damaged), "reason", m.Reason)
		as.step.Stats.OutputsLost++
		as.dispatch.DropOutput(p, j)
		as.jobs.OutputsLost(b, i, true)
	}
	as.jobs.Reopen(b)
}

package outbound

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// Stats returns the counters, with the current numbers of jobs, attempts and ready bundles.
func (rd *StatusReader) Stats() step.Stats {
	s := rd.step.Stats
	s.Running, s.Suspended, s.JobsLive = rd.state.Attempts.Len(), rd.state.Suspended.Len(), rd.state.Jobs.Len()
	for _, id := range rd.state.Jobs.IDs() {
		s.Ready += rd.state.Jobs.Get(id).Ready.Len()
	}
	return s
}

package status

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// Stats returns the counts.
func (rd *Reader) Stats() step.Stats {
	s := rd.step.Stats
	s.Running, s.Suspended, s.JobsLive = rd.life.Attempts.Len(), rd.life.Suspended.Len(), rd.life.Jobs.Len()
	for _, id := range rd.life.Jobs.IDs() {
		s.Ready += rd.life.Jobs.Get(id).ReadyCount()
	}
	return s
}

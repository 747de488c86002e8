package state

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// AttemptsMax returns how often a bundle of the job may fail if its stages don't say it.
func (j *Job) AttemptsMax(s *step.Settings) int {
	if j.Spec.AttemptsMax > 0 {
		return int(min(j.Spec.AttemptsMax, wire.StageAttemptsMax))
	}
	return s.AttemptsMax
}

// AttemptsMax returns how often the bundle may fail: the smallest number that one of its stages
// asks for, or else the job's.
func (b *Bundle) AttemptsMax(s *step.Settings) int {
	least := 0
	for i := range b.Groups() {
		for _, x := range b.Nodes(i) {
			n := int(b.Job.Plan.Graph.Stages[b.Job.Plan.Node(x).Stage].AttemptsMax)
			if n > 0 && (least == 0 || n < least) {
				least = n
			}
		}
	}
	if least > 0 {
		return least
	}
	return b.Job.AttemptsMax(s)
}

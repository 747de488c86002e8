package api

import (
	"context"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// endedDependencies returns the jobs that a submission waits for and that have ended, as history has
// them: the core forgets ended jobs. The core decides on all of them, and on the caller's rights.
func (s *Server) endedDependencies(ctx context.Context, spec *wire.JobSpec) (ended []*wire.JobSummary, err error) {
	after := spec.GetAfter()
	if len(after) > wire.AfterMax {
		return nil, nil // the core refuses it
	}
	for _, d := range after {
		j, err := s.needs.Read.Find(ctx, scheduler.JobID(d.GetJob()))
		if err != nil {
			return nil, err
		}
		if j == nil {
			continue
		}
		if x := j.Status.GetSummary(); wire.JobOver(x.GetState()) {
			ended = append(ended, &wire.JobSummary{Job: x.Job, State: x.State, User: x.User, Pool: x.Pool})
		}
		j.Close()
	}
	return ended, nil
}

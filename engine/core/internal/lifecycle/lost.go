package lifecycle

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Lost says why a job that is not known may have been known to an earlier life of
// the manager; nil when none can have given its id. One that was announced in an earlier
// life, and that somebody takes for submitted, was.
func (ad *Admission) Lost(id scheduler.JobID) *wire.Failure {
	announced := slices.ContainsFunc(ad.state.ReservedIDs, func(p state.ReservedID) bool { return p.ID == id && p.At < ad.ids.Began() })
	if ad.state.Jobs.Get(id) != nil || !announced && !ad.ids.LostJob(uint64(id)) {
		return nil
	}
	return lostJob(id)
}

func lostJob(id scheduler.JobID) *wire.Failure {
	return &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: fmt.Sprintf(
		"the manager knows nothing of %v. Its number lies where the manager went on after it was killed: most numbers there were never given. "+
			"If it was submitted, the event log lost the records of it, which were on disk, or an old copy of it was put back: "+
			"what ran of it was ended, so submit it again", id)}
}

// Losses are the numbers of jobs that earlier lives may have given and whose records the log lost. They stay while a
// life goes on. Safe for concurrent use.
type Losses struct{ of ids.IDs }

// Losses returns them, when this life has begun.
func (ad *Admission) Losses() *Losses { return &Losses{ad.ids.Clone()} }

// Of is Lost for a job that is not announced.
func (l *Losses) Of(id scheduler.JobID) *wire.Failure {
	if !l.of.LostJob(uint64(id)) {
		return nil
	}
	return lostJob(id)
}

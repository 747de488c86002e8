package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/ids"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Term is ids.Term.
func Term(last uint64, age time.Duration) uint64 { return ids.Term(last, age) }

// Lost says why a job that is not known may have been known to an earlier life of
// the manager; nil when none can have given its id. One that was announced in an earlier
// life, and that somebody takes for submitted, was.
func (c *Core) Lost(id scheduler.JobID) *wire.Failure {
	announced := slices.ContainsFunc(c.prepared, func(p prepared) bool { return p.id == id && p.at < c.ids.Began() })
	if c.jobs.Get(id) != nil || !announced && !c.ids.LostJob(uint64(id)) {
		return nil
	}
	return &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: fmt.Sprintf(
		"the manager knows nothing of %v: its event log lost the records of it, which were on disk, or an old copy of it was put back. "+
			"What ran of it was ended: submit it again", id)}
}

// lookForLoss compares what a launcher saw with what the log holds. A clock that went
// back, together with a log that did, may have ids repeat all the same: then they go
// on above what the launcher saw.
func (c *Core) lookForLoss(l *launcher, m *wire.Join) {
	if m.GetTerm() > c.step.Term {
		c.step.Term = m.GetTerm() + 1
		c.noticeLoss(l, fmt.Sprintf("it obeyed a manager of term %d", m.GetTerm()))
	}
	if seen := m.GetSeen(); c.ids.SeenAttempt(seen) {
		c.noticeLoss(l, fmt.Sprintf("it was told to start attempt %d", seen))
	}
	for _, id := range m.GetJobs() {
		if c.ids.SeenJob(id) {
			c.noticeLoss(l, fmt.Sprintf("it has work of %v", scheduler.JobID(id)))
		}
	}
}

// noticeLoss says, once in a life, that the log lost records.
func (c *Core) noticeLoss(l *launcher, how string) {
	if c.lossTold {
		return
	}
	c.lossTold = true
	c.step.Stats.LogLosses++
	c.step.Log(Error, "the event log lost records that were on disk: jobs go on from where it ends, work that it does not know is ended, "+
		"and jobs that it does not know have to be submitted again", "launcher", l.Name, "sign", how)
	for j := range c.jobs.All() {
		c.noteJob(j, "the manager's event log lost its last records: what had happened since is done again")
	}
}

package membership

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// lookForLoss compares the ids that a launcher saw with those in the log. If the clock and the log
// both went back, ids may repeat all the same: then they continue above those that the launcher
// saw.
func (ms *Membership) lookForLoss(l *state.Launcher, m *wire.Join) {
	if m.GetTerm() > ms.step.Term {
		ms.step.BeginTerm(m.GetTerm() + 1)
		ms.noticeLoss(l, fmt.Sprintf("it obeyed a manager of term %d", m.GetTerm()))
	}
	if seen := m.GetSeen(); ms.ids.SeenAttempt(seen) {
		ms.noticeLoss(l, fmt.Sprintf("it was told to start attempt-%d", seen))
	}
	for _, id := range m.GetJobs() {
		if ms.ids.SeenJob(id) {
			ms.noticeLoss(l, fmt.Sprintf("it has work of %v", scheduler.JobID(id)))
		}
	}
}

// noticeLoss reports, once in a life, that the log lost records.
func (ms *Membership) noticeLoss(l *state.Launcher, how string) {
	if !ms.ids.NoticeLoss() {
		return
	}
	ms.step.Stats.LogLosses++
	ms.step.Log(step.Error, "the event log lost records that were on disk: jobs go on from where it ends, work that it does not know is ended, "+
		"and jobs that it does not know have to be submitted again", "launcher", l.Name, "sign", how)
	for j := range ms.state.Jobs.All() {
		ms.state.NoteJob(j, "the manager's event log lost its last records: what had happened since is done again")
	}
}

package membership

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Report takes in what a launcher says. Reports come late, twice, and from
// launchers that were given up: what does not fit the state changes nothing.
func (ss *Membership) Report(m *wire.LauncherReport) {
	l := ss.state.Launchers.Get(scheduler.LauncherID(m.GetLauncher()))
	r := m.GetReport()
	if l == nil || !l.Up || l.Incarnation != r.GetIncarnation() {
		ss.staleReport(l, m)
		return
	}
	switch w := r.GetWhat().(type) {
	case *wire.Report_Started:
		ss.attemptReport(l, w.Started.GetAttempt(), func(a *state.Attempt) { ss.attempts.Started(a, w.Started.GetAddress()) })
	case *wire.Report_Phase:
		ss.attemptReport(l, w.Phase.GetAttempt(), func(a *state.Attempt) { ss.attempts.Executing(a, w.Phase.GetExecuting()) })
	case *wire.Report_Progress:
		ss.attemptReport(l, w.Progress.GetAttempt(), func(a *state.Attempt) { ss.attempts.Progress(a, w.Progress) })
	case *wire.Report_Ended:
		ss.attempts.EndedReport(l, w.Ended)
	case *wire.Report_Suspended:
		ss.attemptReport(l, w.Suspended, ss.attempts.SuspendedNow)
	case *wire.Report_Resumed:
		ss.attemptReport(l, w.Resumed, ss.attempts.ResumedNow)
	case *wire.Report_InputLost:
		ss.attemptReport(l, w.InputLost.GetAttempt(), func(a *state.Attempt) { ss.attempts.InputLost(a, w.InputLost) })
	case *wire.Report_Commit:
		ss.attempts.CommitAsked(l, scheduler.AttemptID(w.Commit))
	case *wire.Report_OutputLost:
		ss.storeLost(l, scheduler.AttemptID(w.OutputLost.GetAttempt()))
	case *wire.Report_Inventory:
		ss.takeInventory(l, inventory{w.Inventory.GetAttempts(), w.Inventory.GetStored(), w.Inventory.GetJobs(), 0})
	case *wire.Report_JobDropped:
		l.Outstanding.Dropped(scheduler.JobID(w.JobDropped))
	case *wire.Report_SourcesTaken:
		ss.attemptReport(l, w.SourcesTaken.GetAttempt(), func(a *state.Attempt) { ss.dispatch.SourcesTaken(a, w.SourcesTaken.GetConfirm()) })
	case *wire.Report_FilesWanted:
		ss.attemptReport(l, w.FilesWanted.GetAttempt(), func(a *state.Attempt) {
			ss.attempts.EnsureStarted(a)
			ss.dispatch.SendFiles(a, w.FilesWanted.GetFrom())
		})
	case *wire.Report_Load:
		ss.events.LoadReport(l, w.Load)
	case *wire.Report_Refused:
		ss.attemptReport(l, w.Refused.GetAttempt(), func(a *state.Attempt) { ss.attempts.RefusedCommand(a, w.Refused.GetFailure()) })
	}
}

// staleReport is one of a launcher that was given up. A late commit is worth a
// line: somebody waited for it.
func (ss *Membership) staleReport(l *state.Launcher, m *wire.LauncherReport) {
	ss.step.Stats.StaleReports++
	e := m.GetReport().GetEnded()
	if e.GetEnd() != wire.End_END_FINISHED {
		return
	}
	name := fmt.Sprint(m.GetLauncher())
	if l != nil {
		name = l.Name
	}
	ss.step.Stats.LateCommits++
	ss.step.LogReported(step.Warn, "a late commit was refused: its launcher had been given up", "launcher", name, "attempt", fmt.Sprint(e.GetAttempt()))
}

// attemptReport finds the live attempt a report is about.
func (ss *Membership) attemptReport(l *state.Launcher, id uint64, f func(*state.Attempt)) {
	if a := ss.state.Attempt(l, id); a != nil {
		f(a)
		return
	}
	ss.step.Stats.StaleReports++
}

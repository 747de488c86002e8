package membership

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Report handles a launcher's report. Reports may come late, twice, and from launchers that were
// given up: a report that does not fit the state changes nothing.
func (ms *Membership) Report(m *wire.LauncherReport) {
	l := ms.state.Launchers.Get(scheduler.LauncherID(m.GetLauncher()))
	r := m.GetReport()
	if l == nil || !l.Up || l.Incarnation() != r.GetIncarnation() {
		ms.staleReport(l, m)
		return
	}
	switch w := r.GetWhat().(type) {
	case *wire.Report_Started:
		ms.attemptReport(l, w.Started.GetAttempt(), func(a *state.Attempt) { ms.attempts.Started(a, w.Started.GetAddress()) })
	case *wire.Report_Phase:
		ms.attemptReport(l, w.Phase.GetAttempt(), func(a *state.Attempt) { ms.attempts.Executing(a, w.Phase.GetExecuting()) })
	case *wire.Report_Progress:
		ms.attemptReport(l, w.Progress.GetAttempt(), func(a *state.Attempt) { ms.attempts.Progress(a, w.Progress) })
	case *wire.Report_Ended:
		ms.attempts.EndedReport(l, w.Ended)
	case *wire.Report_Suspended:
		ms.attemptReport(l, w.Suspended, ms.attempts.SuspendedNow)
	case *wire.Report_Resumed:
		ms.attemptReport(l, w.Resumed, ms.attempts.ResumedNow)
	case *wire.Report_InputLost:
		ms.attemptReport(l, w.InputLost.GetAttempt(), func(a *state.Attempt) { ms.attempts.InputLost(a, w.InputLost) })
	case *wire.Report_Commit:
		ms.attempts.CommitAsked(l, scheduler.AttemptID(w.Commit))
	case *wire.Report_OutputLost:
		ms.storeLost(l, scheduler.AttemptID(w.OutputLost.GetAttempt()))
	case *wire.Report_Inventory:
		ms.takeInventory(l, inventory{w.Inventory.GetAttempts(), w.Inventory.GetStored(), w.Inventory.GetJobs(), 0})
	case *wire.Report_JobDropped:
		l.Outstanding.Dropped(scheduler.JobID(w.JobDropped))
	case *wire.Report_SourcesTaken:
		ms.attemptReport(l, w.SourcesTaken.GetAttempt(), func(a *state.Attempt) { ms.dispatch.SourcesTaken(a, w.SourcesTaken.GetConfirm()) })
	case *wire.Report_FilesWanted:
		ms.attemptReport(l, w.FilesWanted.GetAttempt(), func(a *state.Attempt) {
			ms.attempts.EnsureStarted(a)
			ms.dispatch.SendFiles(a, w.FilesWanted.GetFrom())
		})
	case *wire.Report_Load:
		ms.events.LoadReport(l, w.Load)
	case *wire.Report_Refused:
		if a := ms.state.Attempt(l, w.Refused.GetAttempt()); a != nil {
			ms.attempts.RefusedCommand(a, w.Refused.GetFailure())
		} else {
			ms.step.Stats.StaleReports++
		}
	}
}

// staleReport counts the report of a launcher that was given up, and logs a late commit.
func (ms *Membership) staleReport(l *state.Launcher, m *wire.LauncherReport) {
	ms.step.Stats.StaleReports++
	e := m.GetReport().GetEnded()
	if e.GetEnd() != wire.End_END_FINISHED {
		return
	}
	name := fmt.Sprint(m.GetLauncher())
	if l != nil {
		name = l.Name
	}
	ms.step.Stats.LateCommits++
	ms.step.LogReported(step.Warn, "a late commit was refused: its launcher had been given up", "launcher", name, "attempt", fmt.Sprint(e.GetAttempt()))
}

// attemptReport finds the live attempt of a report.
func (ms *Membership) attemptReport(l *state.Launcher, id uint64, f func(*state.Attempt)) {
	if a := ms.state.Attempt(l, id); a != nil {
		if !a.HeldAhead() { // else the end of its predecessor is not reported yet; this report comes again
			f(a)
		}
		return
	}
	ms.step.Stats.StaleReports++
}

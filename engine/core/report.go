package core

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// report takes in what a launcher says. Reports come late, twice, and from
// launchers that were given up: what does not fit the state changes nothing.
func (c *Core) report(m *wire.LauncherReport) {
	l := c.launchers.Get(scheduler.LauncherID(m.GetLauncher()))
	r := m.GetReport()
	if l == nil || !l.Up || l.incarnation != r.GetIncarnation() {
		c.staleReport(l, m)
		return
	}
	switch w := r.GetWhat().(type) {
	case *wire.Report_Started:
		c.attemptReport(l, w.Started.GetAttempt(), func(a *attempt) { c.started(a, w.Started.GetAddress()) })
	case *wire.Report_Phase:
		c.attemptReport(l, w.Phase.GetAttempt(), func(a *attempt) { c.executing(a, w.Phase.GetExecuting()) })
	case *wire.Report_Progress:
		c.attemptReport(l, w.Progress.GetAttempt(), func(a *attempt) { c.progress(a, w.Progress) })
	case *wire.Report_Ended:
		c.endedReport(l, w.Ended)
	case *wire.Report_Suspended:
		c.attemptReport(l, w.Suspended, c.suspendedNow)
	case *wire.Report_Resumed:
		c.attemptReport(l, w.Resumed, c.resumedNow)
	case *wire.Report_InputLost:
		c.attemptReport(l, w.InputLost.GetAttempt(), func(a *attempt) { c.inputLost(a, w.InputLost) })
	case *wire.Report_Commit:
		c.commitAsked(l, scheduler.AttemptID(w.Commit))
	case *wire.Report_OutputLost:
		c.storeLost(l, scheduler.AttemptID(w.OutputLost.GetAttempt()))
	case *wire.Report_Inventory:
		c.takeInventory(l, inventory{w.Inventory.GetAttempts(), w.Inventory.GetStored(), w.Inventory.GetJobs(), 0})
	case *wire.Report_JobDropped:
		l.line.Dropped(scheduler.JobID(w.JobDropped))
	case *wire.Report_SourcesTaken:
		c.attemptReport(l, w.SourcesTaken.GetAttempt(), func(a *attempt) { c.sourcesTaken(a, w.SourcesTaken.GetConfirm()) })
	case *wire.Report_FilesWanted:
		c.attemptReport(l, w.FilesWanted.GetAttempt(), func(a *attempt) { c.sendFiles(a, w.FilesWanted.GetFrom()) })
	case *wire.Report_Load:
		c.loadReport(l, w.Load)
	case *wire.Report_Refused:
		c.attemptReport(l, w.Refused.GetAttempt(), func(a *attempt) { c.refusedCommand(a, w.Refused.GetFailure()) })
	}
}

// staleReport is one of a launcher that was given up. A late commit is worth a
// line: somebody waited for it.
func (c *Core) staleReport(l *launcher, m *wire.LauncherReport) {
	c.step.Stats.StaleReports++
	e := m.GetReport().GetEnded()
	if e.GetEnd() != wire.End_END_FINISHED {
		return
	}
	name := fmt.Sprint(m.GetLauncher())
	if l != nil {
		name = l.Name
	}
	c.step.Stats.LateCommits++
	c.step.Log(Warn, "a late commit was refused: its launcher had been given up", "launcher", name, "attempt", fmt.Sprint(e.GetAttempt()))
}

// attemptReport finds the live attempt a report is about.
func (c *Core) attemptReport(l *launcher, id uint64, f func(*attempt)) {
	if a := c.attempt(l, id); a != nil {
		f(a)
		return
	}
	c.step.Stats.StaleReports++
}

func (c *Core) started(a *attempt, address string) {
	if a.phase != attemptAssigned {
		if a.run.peersSent {
			c.sendPeersTo(a) // it was told to start again, so it may have missed them
		}
		return
	}
	a.phase, a.started, a.since, a.address = attemptRunning, c.step.Now, c.step.Now, address
	if a.stop == nil {
		a.reads.Start()
		a.pending.Confirmed()
	}
	b := a.run.bundle
	c.emit(b, scheduler.AttemptStarted{
		At: c.step.Now, Attempt: a.id, Job: b.job.id, Bundle: b.id, Group: a.group, Stage: scheduler.StageID(a.stage),
		Launcher: a.launcher.ID, Speculative: a.run.speculative,
	})
	c.sendPeers(a.run)
	c.feed(a)
	c.touch(b.job)
}

func (c *Core) executing(a *attempt, yes bool) {
	c.sureStarted(a)
	if !yes || a.phased != 0 {
		return
	}
	a.phased = c.step.Now
	c.emit(a.run.bundle, scheduler.AttemptPhase{At: c.step.Now, Attempt: a.id, Phase: scheduler.PhaseExecute})
}

// sureStarted makes up for a report of the start that was lost: who says
// anything else of an attempt has started it. Where the address matters, the
// launcher is asked again by resending the command.
func (c *Core) sureStarted(a *attempt) {
	if a.phase == attemptAssigned && !a.run.bundle.wired {
		c.started(a, "")
	}
}

func (c *Core) progress(a *attempt, m *wire.AttemptProgress) {
	c.sureStarted(a)
	a.progress, a.work = 0, m.GetWork()
	if p := m.GetProgress(); p >= 0 && p <= 1 { // not-a-number is neither
		a.progress = float64(int64(p*1000)) / 1000
	}
	c.touch(a.run.bundle.job)
	if a.phase == attemptAssigned || !c.policy.Has(scheduler.AbilityProgress) || c.step.Now.Sub(a.told) < c.policy.Current().ProgressEvery {
		return
	}
	a.told = c.step.Now
	c.policy.Tell(scheduler.AttemptProgress{At: c.step.Now, Attempt: a.id, Progress: a.progress, Work: c.workOf(a, a.work)})
}

// workOf is what the policy learns of an attempt's work. The running time is the
// core's own: it is what the policy saw.
func (c *Core) workOf(a *attempt, m *wire.Work) scheduler.Work {
	w := scheduler.Work{Running: a.running(c.step.Now), ToRead: max(m.GetToRead(), 0), Written: max(m.GetWritten(), 0)}
	for i, n := range m.GetRead() {
		if i < len(w.Read) {
			w.Read[i] = max(n, 0)
		}
	}
	return w
}

// commitAsked grants the commit of a group to one attempt, or refuses it.
func (c *Core) commitAsked(l *launcher, id scheduler.AttemptID) {
	a := c.attempt(l, uint64(id))
	why := ""
	switch {
	case a == nil:
		why = "the attempt counts as ended"
	case a.stop != nil || a.run.stopped != 0 || a.run.bundle.job.phase == jobEnding:
		why = "the attempt is being stopped"
	case a.run.granted:
	default:
		for _, r := range a.run.bundle.runs {
			if r != a.run && r.granted {
				why = "another attempt has it"
			}
		}
	}
	if why == "" {
		c.grant(a)
	} else {
		c.step.Stats.LateCommits++
		c.step.Log(Warn, "a commit was refused", "attempt", fmt.Sprint(id), "reason", why)
	}
	c.command(l, &wire.Command{Do: &wire.Command_Commit{Commit: &wire.CommitVerdict{Attempt: uint64(id), Granted: why == "", Reason: why}}})
}

func (c *Core) grant(a *attempt) {
	c.sureStarted(a)
	b := a.run.bundle
	a.run.granted = true
	if b.last() && b.job.phase == jobPublishing {
		b.job.intent = true
	}
	for _, r := range b.runs {
		if r != a.run {
			c.stopRun(r, scheduler.Killed, "another attempt commits", 0, 0)
		}
	}
}

// refusedCommand ends an attempt that a launcher can't start, and forgets the
// wish to suspend one that it can't suspend.
func (c *Core) refusedCommand(a *attempt, f *wire.Failure) {
	switch {
	case a.phase == attemptAssigned:
		c.failed(a, &wire.AttemptEnded{Attempt: uint64(a.id), End: wire.End_END_FAILED, Failure: f})
	case a.suspending:
		a.suspending = false
		a.pending.Confirmed()
		c.capacity.VictimDone(&a.Holding)
		c.noteSuspended(a.run)
		c.step.Log(Warn, "an attempt could not be suspended", "attempt", fmt.Sprint(a.id), "launcher", a.launcher.Name, "reason", f.GetMessage())
	default:
		c.step.Log(Warn, "a launcher refused a command", "attempt", fmt.Sprint(a.id), "launcher", a.launcher.Name, "reason", f.GetMessage())
	}
}

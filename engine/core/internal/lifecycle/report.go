package lifecycle

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Started records that an attempt runs. address serves its data; "" where it serves none.
func (as *Attempts) Started(a *state.Attempt, address string) {
	if a.Phase() != phase.Assigned {
		if a.BundleAttempt.PeersSent() {
			as.dispatch.SendPeersTo(a) // a resent start may mean that it missed the peers
		}
		return
	}
	a.StartAt(address, as.step.Now)
	if a.Stop() == nil {
		a.Reads.Start()
		a.Unacked.Confirmed()
	}
	b := a.BundleAttempt.Bundle
	as.events.Notify(b, scheduler.AttemptStarted{
		At: as.step.Now, Attempt: a.ID, Job: b.Job.ID, Bundle: b.ID(), Group: a.Group, Stage: scheduler.StageID(a.Stage),
		Launcher: a.Launcher.ID, Speculative: a.BundleAttempt.Speculative(),
	})
	as.dispatch.SendPeers(a.BundleAttempt)
	as.dispatch.Feed(a)
	as.state.Changes.MarkAttempt(a)
}

// Executing records that an attempt has read its input and executes.
func (as *Attempts) Executing(a *state.Attempt, yes bool) {
	as.EnsureStarted(a)
	if !yes || !a.Execute(as.step.Now) {
		return
	}
	as.state.Changes.MarkAttempt(a)
	as.events.Notify(a.BundleAttempt.Bundle, scheduler.AttemptPhase{At: as.step.Now, Attempt: a.ID, Phase: scheduler.PhaseExecute})
}

// EnsureStarted makes up for a lost report of the start: a launcher that reports anything else of
// an attempt has started it. Where the address matters, the command is sent again instead.
func (as *Attempts) EnsureStarted(a *state.Attempt) {
	if a.Phase() == phase.Assigned && !a.BundleAttempt.Bundle.HasTCP() {
		as.Started(a, "")
	}
}

// Progress records an attempt's progress, and notifies a policy that wants progress.
func (as *Attempts) Progress(a *state.Attempt, m *wire.AttemptProgress) {
	as.EnsureStarted(a)
	a.ReportProgress(m.GetProgress(), m.GetWork())
	as.state.Changes.MarkJob(a.BundleAttempt.Bundle.Job)
	if a.Phase() == phase.Assigned || a.BundleAttempt.Bundle.Last() || !as.policy.Has(scheduler.AbilityProgress) || as.step.Now.Sub(a.ProgressNotified()) < as.policy.Current().ProgressEvery {
		return
	}
	a.NotifyProgress(as.step.Now)
	as.policy.Notify(scheduler.AttemptProgress{At: as.step.Now, Attempt: a.ID, Progress: a.Progress(), Work: as.events.WorkOf(a, a.Work())})
}

// CommitAsked grants the commit of a group to one attempt, or refuses it.
func (as *Attempts) CommitAsked(l *state.Launcher, id scheduler.AttemptID) {
	a := as.state.Attempt(l, uint64(id))
	if a != nil && a.HeldAhead() {
		return // the end of its predecessor is not reported yet; it is requested again
	}
	why := ""
	switch {
	case a == nil:
		why = "the attempt counts as ended"
	case a.Stop() != nil || a.BundleAttempt.Stopped() != 0 || a.BundleAttempt.Bundle.Job.Phase() == state.JobEnding:
		why = "the attempt is being stopped"
	case a.BundleAttempt.Granted():
	default:
		for _, r := range a.BundleAttempt.Bundle.Attempts() {
			if r != a.BundleAttempt && r.Granted() {
				why = "another attempt has it"
			}
		}
	}
	if why == "" {
		as.grant(a)
	} else {
		as.step.Stats.LateCommits++
		as.step.LogReported(step.Warn, "a commit was refused", "attempt", fmt.Sprint(id), "reason", why)
	}
	as.dispatch.Command(l, &wire.Command{Do: &wire.Command_Commit{Commit: &wire.CommitVerdict{Attempt: uint64(id), Granted: why == "", Reason: why}}})
}

func (as *Attempts) grant(a *state.Attempt) {
	as.EnsureStarted(a)
	b := a.BundleAttempt.Bundle
	a.BundleAttempt.Grant()
	as.events.WithdrawSpeculation(b)
	if b.Last() && b.Job.Phase() == state.JobPublishing {
		b.Job.OutputCommit.Grant()
	}
	for _, r := range b.Attempts() {
		if r != a.BundleAttempt {
			as.dispatch.StopBundleAttempt(r, scheduler.Killed, "another attempt commits", 0)
		}
	}
}

// RefusedCommand ends an attempt that a launcher can't start, and drops the request to suspend an
// attempt that it can't suspend. An attempt that is not suspended or resumed as required is stopped
// as lost: its bundle is queued again, and its launcher is not at fault.
func (as *Attempts) RefusedCommand(a *state.Attempt, f *wire.Failure) {
	switch {
	case a.Phase() == phase.Assigned:
		as.failed(a, &wire.AttemptEnded{Attempt: uint64(a.ID), End: wire.End_END_FAILED, Failure: f})
	case a.Suspending():
		a.CannotSuspend()
		a.Unacked.Confirmed()
		as.events.Notify(a.BundleAttempt.Bundle, scheduler.SuspensionFailed{At: as.step.Now, Attempt: a.ID})
		as.events.Protect(a.BundleAttempt.Bundle) // else a policy could ask for it without end
		as.resources.Reservations.VictimDone(&a.Allocation)
		as.noteSuspended(a.BundleAttempt)
		as.step.LogReported(step.Warn, "an attempt could not be suspended", "attempt", fmt.Sprint(a.ID), "launcher", a.Launcher.Name, "reason", f.GetMessage())
	case a.Unacked.Waits() && a.Stop() == nil: // it has to be resumed, or it runs and has to be suspended
		as.loseRefused(a, f)
	default:
		as.step.LogReported(step.Warn, "a launcher refused a command", "attempt", fmt.Sprint(a.ID), "launcher", a.Launcher.Name, "reason", f.GetMessage())
	}
}

// loseRefused gives up an attempt that its launcher can't resume or suspend.
func (as *Attempts) loseRefused(a *state.Attempt, f *wire.Failure) {
	do := "resumed"
	if a.WaitsForResume() {
		do = "suspended"
	} else {
		as.step.Stats.ResumesRefused++
	}
	why := fmt.Sprintf("launcher %s could not have it %s: %s", a.Launcher.Name, do, f.GetMessage())
	a.BundleAttempt.Lose(as.step.Shorten(why))
	as.state.NoteJob(a.BundleAttempt.Bundle.Job, fmt.Sprintf("%s is lost: %s", a.BundleAttempt.Bundle.Job.Describe(a.BundleAttempt.Bundle, a.Group), why))
	as.dispatch.StopBundleAttempt(a.BundleAttempt, scheduler.Lost, why, 0)
	as.dropSuspended(a.BundleAttempt)
}

// InputLost handles a reader's report that it can't read a source.
func (as *Attempts) InputLost(a *state.Attempt, m *wire.InputLost) {
	j := a.BundleAttempt.Bundle.Job
	k := dataflow.Key{Conn: int32(m.Connection), From: int32(m.From)}
	if a.Stop() != nil || j.Phase() != state.JobRunning || !j.Inputs.Reads(a.BundleAttempt.Bundle.Nodes(a.Group), k) {
		return
	}
	as.dispatch.Miss(a, k)
	b, i := j.GroupOf(j.Inputs.Files.Writer(k))
	there := j.Inputs.There(k)
	if there && uint64(b.LastCommits()[i].Attempt) != m.Producer && m.Producer != 0 {
		as.dispatch.Feeds.SupplyTo(&j.Inputs, &a.Reads, k, as.state.Source(j)) // made again meanwhile
		return
	}
	if there {
		p := b.LastCommits()[i]
		as.state.NoteJob(j, fmt.Sprintf("output of %s (attempt-%d) can't be read: %s; it is made again", j.Describe(b, i), p.Attempt, m.Reason))
		as.step.LogReported(step.Warn, "a stored output can't be read and is made again", "job", j.ID.String(), "attempt", fmt.Sprint(p.Attempt),
			"damaged", fmt.Sprint(m.Damaged), "reason", m.Reason)
		as.step.Stats.OutputsLost++
		as.dispatch.DropOutput(p, j)
		as.jobs.OutputsLost(b, i, true)
	}
	as.jobs.Reopen(b)
}

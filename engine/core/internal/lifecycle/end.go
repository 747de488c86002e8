package lifecycle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/stats"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// EndedReport handles the report of an attempt's end and lets the launcher forget it.
func (as *Attempts) EndedReport(l *state.Launcher, m *wire.AttemptEnded) {
	id := scheduler.AttemptID(m.GetAttempt())
	a := as.state.Attempt(l, m.GetAttempt())
	if a == nil {
		as.endedAlready(l, m)
		return
	}
	if a.Stop() == nil && a.BundleAttempt.Bundle.Job.Phase() == state.JobEnding { // stopAll had not reached it
		as.dispatch.StopForEnd(a.BundleAttempt)
	}
	started := scheduler.AttemptID(m.GetNext())
	if m.GetEnd() == wire.End_END_FINISHED {
		m = as.rejectForeign(a, m)
	}
	next := as.handOver(a, started)
	switch {
	case m.GetEnd() == wire.End_END_FINISHED && a.MayFinish():
		as.finished(a, m)
	case a.Stop() != nil:
		if m.GetEnd() == wire.End_END_FINISHED {
			as.refuseCommit(l, m, "it was being stopped")
		}
		as.EndAttempt(a, a.Stop().Outcome, m.GetWork(), a.Stop().Reason)
		as.jobs.BundleAttemptEnded(a.BundleAttempt)
	case m.GetEnd() == wire.End_END_FAILED:
		as.failed(a, m)
	default:
		// Stopped without a command: the launcher had its own reason.
		as.Lose(a, "its launcher stopped it")
	}
	as.dispatch.Forget(l, id)
	if next != nil {
		as.tookSlots(next, next.ID == started)
	}
}

// endedAlready handles the end of an attempt that is not live: it was reported before, or the
// attempt was given up.
func (as *Attempts) endedAlready(l *state.Launcher, m *wire.AttemptEnded) {
	as.step.Stats.StaleReports++
	id := scheduler.AttemptID(m.GetAttempt())
	if m.GetEnd() == wire.End_END_FINISHED && len(m.GetStored()) > 0 && l.Outputs.Get(id) == nil {
		as.refuseCommit(l, m, "it had been given up")
	}
	as.dispatch.Forget(l, id)
}

// refuseCommit logs a refused commit, and deletes the attempt's stored outputs. Those of an ended
// job are deleted with the job.
func (as *Attempts) refuseCommit(l *state.Launcher, m *wire.AttemptEnded, why string) {
	as.step.Stats.LateCommits++
	as.step.LogReported(step.Warn, "a late commit was refused: "+why, "launcher", l.Name, "attempt", fmt.Sprint(m.GetAttempt()))
	if a := as.state.Attempt(l, m.GetAttempt()); a != nil && len(m.GetStored()) > 0 {
		as.dispatch.Command(l, &wire.Command{Do: &wire.Command_DropOutput{DropOutput: &wire.Stored{Attempt: m.GetAttempt(), Job: uint64(a.BundleAttempt.Bundle.Job.ID)}}})
	}
}

// finished accepts an attempt's end. Its bundle commits when all its attempts have ended.
func (as *Attempts) finished(a *state.Attempt, m *wire.AttemptEnded) {
	as.EnsureStarted(a)
	if a.Phase() == phase.Assigned { // a gang member whose start was never reported
		as.Started(a, "")
	}
	r, b := a.BundleAttempt, a.BundleAttempt.Bundle
	k := &state.Commit{
		Attempt: a.ID, BundleAttempt: r.ID, Token: r.Token(), Launcher: a.Launcher.ID, Host: a.Launcher.Host, Rack: a.Launcher.Rack,
		Spec: r.Speculative(), Launched: r.Launched(), Started: a.Started(), Phased: a.Executing(), Ended: as.step.Now, Report: m,
		Work: as.events.WorkOf(a, m.GetWork()),
	}
	for _, s := range m.GetStored() {
		if int(s.GetConnection()) < len(b.Job.Plan.Graph.Connections) && b.Job.Plan.Connection(int(s.GetConnection())).Store == "" {
			k.Stored = true
		}
	}
	r.CommitGroup(a, k)
	as.step.Stats.Finished++
	ran := a.Running(as.step.Now)
	as.EndAttempt(a, scheduler.Finished, m.GetWork(), "")
	if b.Job.Stages[a.Stage].Ran(ran, as.step.Set.AheadBelow) {
		as.resources.Offers.MarkAheadOf(b.Job.ID)
	}
	a.Launcher.EndedByItself(a)
	for _, k := range r.Commits() {
		if k == nil {
			as.noteSuspended(r)
			return // some attempt of it is live: a bundle attempt that loses a member is stopped
		}
	}
	as.jobs.CommitBundleAttempt(r)
}

// blameless are the kinds of failures that are no launcher's fault.
var blameless = []wire.ErrorKind{wire.ErrorKind_ERROR_KIND_OUTPUT, wire.ErrorKind_ERROR_KIND_FULL, wire.ErrorKind_ERROR_KIND_DENIED}

// ofMounts are reasons of an output store that a launcher's bad mount may cause.
var ofMounts = []wire.Refusal{wire.Refusal_REFUSAL_MISSING, wire.Refusal_REFUSAL_READ_ONLY, wire.Refusal_REFUSAL_DENIED}

// failed handles an attempt's failure and stops the rest of its bundle.
func (as *Attempts) failed(a *state.Attempt, m *wire.AttemptEnded) {
	f := m.GetFailure()
	if f == nil {
		f = &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_INTERNAL, Message: "it failed without saying why"}
	}
	r := a.BundleAttempt
	// Once a last group runs, its failures are the output store's, and no launcher's fault. Neither
	// is a launcher's inability to run processes as the job's user.
	theirs := r.Bundle.Last() && a.Phase() != phase.Assigned || slices.Contains(blameless, f.Kind)
	switch {
	case a.Stop() != nil:
		as.EndAttempt(a, a.Stop().Outcome, m.GetWork(), a.Stop().Reason)
		as.jobs.BundleAttemptEnded(r)
		return
	case f.Kind == wire.ErrorKind_ERROR_KIND_LOST:
		r.Lose(as.step.Shorten(f.Message))
		as.EndAttempt(a, scheduler.Lost, m.GetWork(), f.Message)
		as.dispatch.StopBundleAttempt(r, scheduler.Lost, "another group of its bundle was lost", 0)
	default:
		if f.Kind == wire.ErrorKind_ERROR_KIND_OUTPUT { // name the launcher whose mount may be bad
			f = proto.CloneOf(f)
			f.Message += " (on launcher " + a.Launcher.Name + ")"
		}
		r.Bundle.Job.FailStage(f, a)
		r.Fail(f)
		as.step.Stats.Failed++
		as.EndAttempt(a, scheduler.Failed, m.GetWork(), f.Message)
		if f.Kind == wire.ErrorKind_ERROR_KIND_OUTPUT && as.bundles.RefusedStore(r.Bundle, a.Launcher, Refusal(f.Refusal), slices.Contains(ofMounts, f.Refusal)) {
			r.TryElsewhere()
		}
		as.state.NoteJob(r.Bundle.Job, fmt.Sprintf("%s failed on %s: %s", r.Bundle.Job.Describe(r.Bundle, a.Group), a.Launcher.Name, f.Message))
		if !theirs {
			as.bundles.RecordFailure(r.Bundle, a.Launcher, f.Kind == wire.ErrorKind_ERROR_KIND_PROGRAM)
		}
		as.dispatch.StopBundleAttempt(r, scheduler.Lost, "another group of its bundle failed", 0)
	}
	as.jobs.BundleAttemptEnded(r)
}

// Lose ends an attempt whose launcher or worker was lost.
func (as *Attempts) Lose(a *state.Attempt, reason string) {
	r := a.BundleAttempt
	outcome := scheduler.Lost
	if a.Stop() != nil && a.Launcher.Up {
		outcome = a.Stop().Outcome
	} else {
		r.Lose(as.step.Shorten(reason))
	}
	as.EndAttempt(a, outcome, a.Work(), reason)
	if outcome == scheduler.Lost {
		as.dispatch.StopBundleAttempt(r, scheduler.Lost, "another group of its bundle was lost", 0)
	}
	as.jobs.BundleAttemptEnded(r)
}

// GiveUp is Lose for an attempt whose launcher confirms no command, and which may still run there.
// Its bundle excludes that launcher.
func (as *Attempts) GiveUp(a *state.Attempt, reason string) {
	as.bundles.RecordFailure(a.BundleAttempt.Bundle, a.Launcher, false)
	as.Lose(a, reason)
}

// EndAttempt removes an attempt from the state and releases its resources.
func (as *Attempts) EndAttempt(a *state.Attempt, outcome scheduler.AttemptOutcome, w *wire.Work, reason string) {
	b := a.BundleAttempt.Bundle
	j := b.Job
	reason = as.step.Shorten(reason)
	work := as.events.WorkOf(a, w)
	as.resources.ReleaseAllOf(&a.Launcher.Launcher, &a.Allocation)
	as.resources.Reservations.VictimDone(&a.Allocation)
	as.dispatch.StopWaiting(a)
	as.dropSuspended(a.BundleAttempt)
	as.state.RemoveAttempt(a)
	if a.Phase() == phase.Suspended {
		as.step.Stats.AddSuspension(as.step.Now.Sub(a.Since()))
	}
	a.End(as.step.Now, outcome)
	as.events.WithdrawSpeculation(b)
	e := scheduler.AttemptEnded{At: as.step.Now, Attempt: a.ID, Outcome: outcome, Work: work, Reason: reason}
	if outcome == scheduler.Preempted && a.Stop() != nil {
		e.For = a.Stop().ForJob
	}
	as.events.Notify(b, e)
	as.state.Changes.AddEnd(a, reason, e.For, work)
	as.step.Stats.Outcomes[outcome]++
	j.Stats.KeepEndedAttempt(stats.EndedAttempt{
		ID: a.ID, Stage: a.Stage, Index: a.Index, Launcher: a.Launcher.Name, Outcome: outcome, Started: a.Started(), Ended: as.step.Now,
		Suspended: a.SuspendedTime(), Speculative: a.BundleAttempt.Speculative(), Reason: reason,
	}, as.step.Set.AttemptsKept)
	as.state.Changes.MarkJob(j)
}

// rejectForeign returns a successful end unchanged. If it names outputs of other groups it returns
// a failure in its place, and deletes the attempt's stored outputs.
func (as *Attempts) rejectForeign(a *state.Attempt, m *wire.AttemptEnded) *wire.AttemptEnded {
	err := checkOwn(a, m)
	if err == nil {
		return m
	}
	as.refuseCommit(a.Launcher, m, err.Error())
	return &wire.AttemptEnded{Attempt: m.GetAttempt(), End: wire.End_END_FAILED, Work: m.GetWork(), Failure: &wire.Failure{
		Kind:    wire.ErrorKind_ERROR_KIND_INTERNAL,
		Message: fmt.Sprintf("launcher %s reported an end that can't be the attempt's: %v", a.Launcher.Name, err),
	}}
}

// checkOwn refuses an attempt's successful end that names outputs of another group. Launchers apply
// the same rule to their workers, so a violation is the launcher's fault.
func checkOwn(a *state.Attempt, m *wire.AttemptEnded) error {
	for _, s := range m.GetStored() {
		if err := checkStored(a, s); err != nil {
			return err
		}
	}
	own := "a" + strconv.FormatUint(uint64(a.ID), 10) + "."
	outputs := int64(len(a.BundleAttempt.Bundle.Job.Spec.GetOutputs()))
	for _, f := range m.GetFiles() {
		switch {
		case !a.HasNode(f.GetStage(), f.GetIndex()):
			return fmt.Errorf("it names an output file of node %d of stage %d, which is not of the attempt's group", f.GetIndex(), f.GetStage())
		case !strings.HasPrefix(f.GetTemporary(), own):
			return fmt.Errorf("it names the output file %.100q, and the attempt's begin with %q", f.GetTemporary(), own)
		case outputs > 0 && int64(f.GetOutput()) >= outputs: // without outputs nothing is published
			return fmt.Errorf("it names a file of output %d, which the job does not have", f.GetOutput())
		}
	}
	return nil
}

// checkStored refuses an output that no node of the attempt's group writes.
func checkStored(a *state.Attempt, s *wire.StoredOutput) error {
	all := a.BundleAttempt.Bundle.Job.Plan.Graph.Connections
	if int64(s.GetConnection()) >= int64(len(all)) {
		return fmt.Errorf("it names stored output of connection %d, which the job does not have", s.GetConnection())
	}
	if stage := all[s.GetConnection()].FromStage; !a.HasNode(stage, s.GetFrom()) {
		return fmt.Errorf("it names stored output of node %d of stage %d, which is not of the attempt's group", s.GetFrom(), stage)
	}
	return nil
}

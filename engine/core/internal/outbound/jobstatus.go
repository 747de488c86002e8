package outbound

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func (rd *StatusReader) statusOf(j *state.Job) *wire.JobStatus {
	s := &wire.JobStatus{
		Summary: j.Summary(), Failure: j.End.Failure(), Waiting: rd.waitingOf(j), Outputs: j.Spec.Outputs,
		Counters: j.Stats.Counters(), Stages: make([]*wire.StageStatus, len(j.Stages)), Limits: j.Limits(), Started: int64(j.Submission.Started()),
		After: j.Spec.GetAfter(), Array: j.ArrayStatus(false), Run: j.Spec.GetRun(),
	}
	for i := range j.Stages {
		s.Stages[i] = j.Stages[i].Status()
		s.Stages[i].Adapt, s.Stages[i].Aggregate = j.Spread(i).Status(), j.Aggregation(i).Status()
	}
	s.Read, s.LocalAttempts = j.Stats.Reads()
	if j.Notes.Dropped() > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("(%d older notes were dropped)", j.Notes.Dropped()))
	}
	s.Notes = append(s.Notes, j.Notes.List()...)
	return s
}

// waitingOf returns why a job waits: the manager's reasons, then the policy's.
func (rd *StatusReader) waitingOf(j *state.Job) []string {
	var list []string
	switch j.Phase() {
	case state.JobWaiting:
		list = append(list, changes.WaitsForJobs(dependencies(j)))
	case state.JobPendingAdmission:
		list = append(list, "waits to be admitted by the policy")
	case state.JobRunning:
		if why := j.StoreRoom.Why(); why != "" {
			list = append(list, why)
		}
	case state.JobPublishing:
		if j.LastBundle().Phase() == state.BundleWaiting && j.OutputCommit.RetryReason() != "" {
			list = append(list, j.OutputCommit.RetryReason())
		}
	case state.JobEnding:
		if n := len(j.Attempts()); n > 0 {
			list = append(list, fmt.Sprintf("%d attempts are being stopped", n))
		}
	}
	if j.Waits.WhyNot() != "" && !j.Ends() {
		list = append(list, j.Waits.WhyNot()+state.UnplaceableRemedy)
	}
	if !j.BeforeAdmission() && j.Ready.Len() > 0 {
		switch {
		case rd.resources.Launchers.Up() == 0:
			list = append(list, "no launcher is there")
		case rd.resources.Launchers.Closed() == rd.resources.Launchers.Up() && j.Phase() == state.JobRunning:
			list = append(list, changes.AllClosed(rd.resources.Launchers.Up()))
		case rd.policy.Current() == nil && j.Phase() == state.JobRunning:
			list = append(list, "no policy is running")
		}
		if b := j.Ready.Longest(); !b.Last() && !b.WithinUserLimit(scheduler.Usage{}) {
			list = append(list, changes.AtUserLimit(&j.User().LimitedUser, b.Usage()))
		}
		list = append(list, rd.waitsFor(j))
	}
	if w := j.Waits.Policy(); w.Reason != scheduler.WaitNone {
		text := w.Reason.String()
		if w.Detail != "" {
			text += ": " + w.Detail
		}
		list = append(list, "policy: "+text)
	}
	return list
}

// waitsFor returns why a job's longest ready bundle does not run; "" when none is ready.
func (rd *StatusReader) waitsFor(j *state.Job) string {
	b := j.Ready.Longest()
	if b == nil {
		return ""
	}
	if b.Last() {
		return changes.WaitsForLauncher(j.Describe(b, 0), rd.resources.Launchers.Up())
	}
	need := map[string]int{}
	var kinds []string
	for i := range b.Width() {
		d := b.Request(i)
		if need[d.Kind] == 0 {
			kinds = append(kinds, d.Kind)
		}
		need[d.Kind] += d.Slots
	}
	slices.Sort(kinds)
	var parts []string
	for _, kind := range kinds {
		free, total := rd.resources.Launchers.Count(kind)
		at := " "
		if b.Width() > 1 {
			at = " at once "
		}
		parts = append(parts, fmt.Sprintf("%d %s slots%s(%d free of %d in the cluster)", need[kind], kind, at, free, total))
	}
	noun := "a group"
	if b.Width() > 1 {
		noun = fmt.Sprintf("a bundle of %d groups", b.Width())
	}
	return fmt.Sprintf("%d ready: %s of %s needs %s", j.Ready.Len(), noun, j.Describe(b, 0), strings.Join(parts, " and "))
}

// attemptStatus is the shown status of a job's attempts: first the ended and remembered ones, in
// the order of their ends, then the live ones, in order of id.
func attemptStatus(j *state.Job) []*wire.AttemptStatus {
	var list []*wire.AttemptStatus
	for _, p := range j.Stats.EndedAttempts() {
		list = append(list, &wire.AttemptStatus{
			Attempt: uint64(p.ID), Stage: j.Stages[p.Stage].Name(), Index: uint32(p.Index), Launcher: p.Launcher, State: p.Outcome.String(),
			Started: int64(p.Started), Ended: int64(p.Ended), Speculative: p.Speculative, Reason: p.Reason, SuspendedNs: int64(p.Suspended),
		})
	}
	for _, a := range j.Attempts().Sorted() {
		s := &wire.AttemptStatus{
			Attempt: uint64(a.ID), Stage: j.Stages[a.Stage].Name(), Index: uint32(a.Index), Launcher: a.Launcher.Name, State: a.State(),
			Started: int64(a.Started()), Speculative: a.BundleAttempt.Speculative(), SuspendedNs: int64(a.SuspendedTime()),
		}
		if a.Phase() == phase.Suspended {
			s.SuspendedSince = int64(a.Since())
		}
		if a.Stop() != nil {
			s.Reason = a.Stop().Reason
		}
		list = append(list, s)
	}
	return list
}

// Remember keeps the status of an ended job. refused is why its submission was refused; nil: it was
// not.
func (rd *StatusReader) Remember(j *state.Job, refused *wire.Failure) {
	s := rd.statusOf(j)
	s.Attempts = attemptStatus(j) // none is live any more
	s.Waiting, s.Array = nil, j.ArrayStatus(true)
	for _, stage := range s.Stages { // unfinished stages wait for nothing any more
		stage.Waiting, stage.Ready, stage.Running, stage.Suspended = 0, 0, 0, 0
	}
	s.Summary.State = stateOf(j.End.Outcome())
	s.Summary.Ended = int64(rd.step.Now)
	s.Kept = j.OutputCommit.Kept()
	if n := len(s.Attempts); n > endedAttemptsKept {
		s.Attempts = s.Attempts[n-endedAttemptsKept:]
	}
	e := &state.EndedJob{Status: s, Refused: refused}
	rd.state.Ended.Add(e, rd.step.Set.JobsKept)
	rd.state.Changes.AddEndedJob(e)
}

// endedAttemptsKept bounds the attempts kept of an ended job.
const endedAttemptsKept = 100

func stateOf(o scheduler.JobOutcome) wire.JobState {
	switch o {
	case scheduler.JobSucceeded:
		return wire.JobState_JOB_STATE_SUCCEEDED
	case scheduler.JobKilled:
		return wire.JobState_JOB_STATE_KILLED
	}
	return wire.JobState_JOB_STATE_FAILED
}

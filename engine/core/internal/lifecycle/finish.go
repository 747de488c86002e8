package lifecycle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// checkDone ends a job whose groups have all finished: at once, or by its last group that
// publishes. It waits for attempts that lost against another attempt at their bundle, so that none
// of the job's attempts runs when it has ended.
func (js *Jobs) checkDone(j *state.Job) {
	if j.Phase() != state.JobRunning || j.Unfinished() > 0 || len(j.Attempts()) > 0 || !j.Slices.AllOpen() || j.Elements.Pending() {
		return
	}
	if j.LastBundle() == nil {
		js.workOver(j)
		return
	}
	if failed, killed := j.Elements.Ended(); failed+killed > 0 && failed+killed == len(j.Plan.Bundles) { // there is nothing to publish
		js.EndJob(j, scheduler.JobFailed, j.ElementsFailure())
		return
	}
	j.Enter(state.JobPublishing)
	js.state.RequeueJob(j) // readers may still wait for an update that they no longer need
	js.bundles.MakeReady(j.LastBundle())
}

// EndJob begins the end of a job that failed or was killed: its attempts are stopped, then its
// temporary files are deleted.
func (js *Jobs) EndJob(j *state.Job, outcome scheduler.JobOutcome, f *wire.Failure) {
	if j.Ends() {
		return
	}
	j.BeginEnd(outcome, f)
	js.resources.Reservations.ReleaseForJob(j.ID)
	js.state.Changes.MarkJob(j)
	js.stopAll(j)
}

// checkQuiet continues the end of a job without running attempts.
func (js *Jobs) checkQuiet(j *state.Job) {
	if j.Phase() != state.JobEnding || len(j.Attempts()) > 0 || !j.Slices.AllClosed() {
		return
	}
	if j.LastBundle() == nil {
		js.jobOver(j, j.End.Outcome())
		return
	}
	j.Enter(state.JobCleaning)
	j.OutputCommit.Clean()
	js.step.SetTimer(js.step.Set.CleanMax, step.TimerClean, uint64(j.ID))
	js.bundles.MakeReady(j.LastBundle())
}

// lastFinished ends a job whose last group has published, kept or cleaned. A publisher with a grant
// may have published before it was stopped: then the job has its output, whatever ended it.
func (js *Jobs) lastFinished(j *state.Job, m *wire.AttemptEnded) {
	published := uniq(m.GetPublished(), len(j.Spec.Outputs))
	if j.Phase() == state.JobPublishing || len(published) > 0 && len(published) == len(j.Spec.Outputs) {
		switch {
		case j.Unfinished() > 0:
			js.state.NoteJob(j, fmt.Sprintf("its outputs had been published before the manager's log lost records: %d of its groups are counted as unfinished, and the counters lack them",
				j.Unfinished()))
		case j.Phase() == state.JobCleaning:
			js.state.NoteJob(j, "its outputs had been published before it ended")
		}
		j.Stages[len(j.Stages)-1].FinishGroups(1)
		j.Stats.Finished(1)
		js.workOver(j)
		return
	}
	for _, i := range published {
		j.End.AddToMessage(fmt.Sprintf("; %s had been published before and stays", j.Spec.Outputs[i]))
	}
	js.keepParts(j, published)
	js.jobOver(j, j.End.Outcome())
}

// uniq returns the numbers below a bound in order, without duplicates.
func uniq(list []uint32, bound int) []uint32 {
	list = slices.DeleteFunc(slices.Clone(list), func(i uint32) bool { return int(i) >= bound })
	slices.Sort(list)
	return slices.Compact(list)
}

// keepParts reports where the parts of a job are that could not be published, and the command that
// publishes them.
func (js *Jobs) keepParts(j *state.Job, published []uint32) {
	if !j.OutputCommit.Keeps() {
		return
	}
	owner := plan.Owner{Cluster: plan.Cluster(js.step.Set.Cluster()), Job: uint64(j.ID), Secret: j.Spec.GetFolders().GetSecret()}
	for i, output := range j.Spec.Outputs {
		if !slices.Contains(published, uint32(i)) {
			j.OutputCommit.KeepIn(owner.Temporary(output))
		}
	}
	kept := j.OutputCommit.Kept()
	if len(kept) == 0 {
		return
	}
	j.End.AddToMessage(fmt.Sprintf("; all parts are ready and stay in %s: when that is mended, publish them with \"hamadryad publish %s\", or remove them",
		strings.Join(kept, " and "), strings.Join(kept, " ")))
}

// cantPublish ends a job whose publishing failed for good. Its parts are ready, so they stay; its
// other files are deleted.
func (js *Jobs) cantPublish(j *state.Job, f *wire.Failure, message string) {
	j.OutputCommit.KeepParts()
	js.EndJob(j, scheduler.JobFailed, &wire.Failure{Kind: f.GetKind(), Message: message})
}

// lastAttemptEnded handles the end of a last group that did not finish.
func (js *Jobs) lastAttemptEnded(b *state.Bundle, r *state.BundleAttempt) {
	j := b.Job
	end := state.FailedCommit{Failure: r.Failure(), Lost: r.Lost(), Elsewhere: r.Elsewhere()}
	switch {
	case r.Failure() != nil && r.Failure().Kind != wire.ErrorKind_ERROR_KIND_RESOURCE && r.Failure().Kind != wire.ErrorKind_ERROR_KIND_FULL:
		b.Tries.CountFailure()
	case end.Counts(): // a launcher without room for it is no evidence about the job
		b.Tries.CountLoss()
	}
	end.Failures, end.Losses = b.Tries.Failures(), b.Tries.Losses()
	cleaning := j.Phase() != state.JobPublishing
	v := j.OutputCommit.Next(js.step.Now, cleaning, end, js.commitLimits(j))
	switch {
	case j.Phase() == state.JobEnding:
		js.checkQuiet(j)
	case v.Action == state.LeaveTemporary:
		js.leaveTemporary(j, v.Why)
	case v.Action == state.FailJob:
		js.EndJob(j, scheduler.JobFailed, r.Failure())
	case v.Action == state.FailKeepingParts:
		js.cantPublish(j, r.Failure(), v.Why)
	case v.Action == state.RetryCommitLater:
		js.step.SetTimer(v.Wait, step.TimerPublish, uint64(j.ID))
		js.state.Changes.MarkJob(j)
	default:
		js.bundles.MakeReady(b)
	}
}

func (js *Jobs) commitLimits(j *state.Job) state.CommitLimits {
	s := &js.step.Set
	return state.CommitLimits{
		Publish: s.PublishTries, Clean: s.CleanTries, Failures: j.AttemptsMax(s), Losses: s.LostMax, After: s.PublishRetryAfter, AfterMax: s.PublishRetryMax,
	}
}

// RetryPublish tries to publish a job once more, after the retry delay.
func (js *Jobs) RetryPublish(id scheduler.JobID) {
	if j := js.state.Jobs.Get(id); j != nil && j.Phase() == state.JobPublishing && j.LastBundle().Phase() == state.BundleWaiting && j.OutputCommit.Due(js.step.Now) {
		js.bundles.MakeReady(j.LastBundle())
	}
}

// CleanTooLong ends a job whose cleaning group found no launcher for too long.
func (js *Jobs) CleanTooLong(id scheduler.JobID) {
	j := js.state.Jobs.Get(id)
	switch {
	case j == nil || j.Phase() != state.JobCleaning:
	case j.LastBundle().Phase() == state.BundleReady:
		js.bundles.Withdraw(j.LastBundle())
		js.leaveTemporary(j, fmt.Sprintf("its cleaning found no launcher for %v", js.step.Set.CleanMax))
	default:
		js.step.SetTimer(js.step.Set.CleanMax, step.TimerClean, uint64(j.ID))
	}
}

// leaveTemporary ends a job whose temporary folders could not be deleted.
func (js *Jobs) leaveTemporary(j *state.Job, why string) {
	js.state.NoteJob(j, why+": its temporary folders are left behind")
	js.step.Log(step.Warn, "a job's temporary folders are left behind", "job", j.ID.String(), "reason", why)
	js.keepParts(j, nil)
	js.jobOver(j, j.End.Outcome())
}

// jobOver removes a job from the state; its summary is kept.
func (js *Jobs) jobOver(j *state.Job, outcome scheduler.JobOutcome) {
	j.BeginRemoval(outcome)
	if outcome == scheduler.JobSucceeded {
		js.bundles.Succeeded(j)
		js.state.PastRuns.Record(j, js.step.Set.PastStagesMax)
	}
	js.resources.Reservations.ReleaseForJob(j.ID)
	js.state.Changes.MarkJob(j)
	js.remove(j)
}

// removed completes the removal of a job.
func (js *Jobs) removed(j *state.Job) {
	if j.KnownToPolicy() {
		js.policy.NotifyJob(j.ID, scheduler.JobFinished{At: js.step.Now, Job: j.ID, Outcome: j.End.Outcome()})
	}
	js.step.Stats.Jobs[j.End.Outcome()]++
	js.status.Remember(j, nil)
	js.state.RemoveJob(j)
	js.resources.Offers.MarkAheadOf(j.ID)
	js.endDependencies(j)
}

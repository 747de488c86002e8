package jobs

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core/life"
	"github.com/hamadryad/hamadryad/engine/core/publishing"
	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// checkDone ends a job whose groups have all finished: at once, or by its last
// group that publishes. An attempt that lost against another of its bundle is waited for, so
// that nothing of a job runs when it has ended.
func (js *Jobs) checkDone(j *life.Job) {
	if j.Phase() != life.JobRunning || j.Unfinished > 0 || len(j.Attempts) > 0 || j.Opened < len(j.Plan.Bundles) {
		return
	}
	if j.LastBundle() == nil {
		js.jobOver(j, scheduler.JobSucceeded)
		return
	}
	j.Enter(life.JobPublishing)
	js.life.NoteWork(j) // readers of it may not have been told what they need no more
	js.bundles.MakeReady(j.LastBundle())
}

// EndJob begins the end of a job that failed or was killed: its attempts are
// stopped, then its traces are cleaned away.
func (js *Jobs) EndJob(j *life.Job, outcome scheduler.JobOutcome, f *wire.Failure) {
	if j.Ends() {
		return
	}
	j.Enter(life.JobEnding)
	j.Outcome, j.Failure, j.Closed = outcome, f, 0
	js.capacity.ReleaseForJob(j.ID)
	js.life.Touch(j)
	js.stopAll(j)
}

// checkQuiet goes on with the end of a job of which nothing runs any more.
func (js *Jobs) checkQuiet(j *life.Job) {
	if j.Phase() != life.JobEnding || len(j.Attempts) > 0 || j.Closed < len(j.Bundles) {
		return
	}
	if j.LastBundle() == nil {
		js.jobOver(j, j.Outcome)
		return
	}
	j.Enter(life.JobCleaning)
	j.OutputCommit.Clean()
	js.step.After(js.step.Set.CleanMax, step.TimerClean, uint64(j.ID))
	js.bundles.MakeReady(j.LastBundle())
}

// lastFinished ends a job whose last group has published, kept or cleaned. What a
// publisher was granted may have been done before it was stopped: then the job has
// its output, whatever ended it.
func (js *Jobs) lastFinished(j *life.Job, m *wire.AttemptEnded) {
	published := uniq(m.GetPublished(), len(j.Spec.Outputs))
	if j.Phase() == life.JobPublishing || len(published) > 0 && len(published) == len(j.Spec.Outputs) {
		switch {
		case j.Unfinished > 0:
			js.life.NoteJob(j, fmt.Sprintf("its outputs had been published before the manager's log lost records: %d of its groups are counted as unfinished, and the counters lack them",
				j.Unfinished))
		case j.Phase() == life.JobCleaning:
			js.life.NoteJob(j, "its outputs had been published before it ended")
		}
		j.Stages[len(j.Stages)-1].FinishGroups(1)
		j.Tally.Finished(1)
		j.Failure = nil
		js.jobOver(j, scheduler.JobSucceeded)
		return
	}
	for _, i := range published {
		j.Failure = proto.CloneOf(j.Failure)
		j.Failure.Message += fmt.Sprintf("; %s had been published before and stays", j.Spec.Outputs[i])
	}
	js.keepParts(j, published)
	js.jobOver(j, j.Outcome)
}

// uniq returns numbers below a bound in order, each once.
func uniq(list []uint32, bound int) []uint32 {
	list = slices.DeleteFunc(slices.Clone(list), func(i uint32) bool { return int(i) >= bound })
	slices.Sort(list)
	return slices.Compact(list)
}

// keepParts says where the parts of a job are that could not be published, and how
// a person publishes them.
func (js *Jobs) keepParts(j *life.Job, published []uint32) {
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
	j.Failure = proto.CloneOf(j.Failure)
	j.Failure.Message += fmt.Sprintf("; all parts are ready and stay in %s: when that is mended, publish them with \"hamadryad publish %s\", or remove them",
		strings.Join(kept, " and "), strings.Join(kept, " "))
}

// cantPublish ends a job whose publishing failed for good. Its parts are ready, so
// they stay; what else it left is cleaned away.
func (js *Jobs) cantPublish(j *life.Job, f *wire.Failure, message string) {
	j.OutputCommit.KeepParts()
	js.EndJob(j, scheduler.JobFailed, &wire.Failure{Kind: f.GetKind(), Message: message})
}

// lastRunOver does what follows on a last group that did not come to its end.
func (js *Jobs) lastRunOver(b *life.Bundle, r *life.Run) {
	j := b.Job
	end := publishing.FailedCommit{Failure: r.Failure(), Lost: r.Lost(), Elsewhere: r.Elsewhere()}
	switch {
	case r.Failure() != nil && r.Failure().Kind != wire.ErrorKind_ERROR_KIND_RESOURCE && r.Failure().Kind != wire.ErrorKind_ERROR_KIND_FULL:
		b.Failures++
	case end.Counts(): // a launcher without room for it says nothing of the job
		b.Losses++
	}
	end.Failures, end.Losses = b.Failures, b.Losses
	cleaning := j.Phase() != life.JobPublishing
	v := j.OutputCommit.Next(js.step.Now, cleaning, end, js.publishingLimits(j))
	switch {
	case j.Phase() == life.JobEnding:
		js.checkQuiet(j)
	case v.Action == publishing.LeaveTemporary:
		js.leaveTraces(j, v.Why)
	case v.Action == publishing.FailJob:
		js.EndJob(j, scheduler.JobFailed, r.Failure())
	case v.Action == publishing.FailKeepingParts:
		js.cantPublish(j, r.Failure(), v.Why)
	case v.Action == publishing.RetryCommitLater:
		js.step.After(v.Wait, step.TimerPublish, uint64(j.ID))
		js.life.Touch(j)
	default:
		js.bundles.MakeReady(b)
	}
}

func (js *Jobs) publishingLimits(j *life.Job) publishing.CommitLimits {
	s := &js.step.Set
	return publishing.CommitLimits{
		Publish: s.PublishTries, Clean: s.CleanTries, Failures: j.AttemptsMax(s), Losses: s.LostMax, After: s.PublishRetryAfter, AfterMax: s.PublishRetryMax,
	}
}

// PublishAgain tries to publish a job once more, when it has waited for that.
func (js *Jobs) PublishAgain(id scheduler.JobID) {
	if j := js.life.Jobs.Get(id); j != nil && j.Phase() == life.JobPublishing && j.LastBundle().Phase() == life.BundleWaiting && j.OutputCommit.Due(js.step.Now) {
		js.bundles.MakeReady(j.LastBundle())
	}
}

// CleanTooLong ends a job whose cleaning found no launcher for too long.
func (js *Jobs) CleanTooLong(id scheduler.JobID) {
	j := js.life.Jobs.Get(id)
	switch {
	case j == nil || j.Phase() != life.JobCleaning:
	case j.LastBundle().Phase() == life.BundleReady:
		js.bundles.Withdraw(j.LastBundle())
		js.leaveTraces(j, fmt.Sprintf("its cleaning found no launcher for %v", js.step.Set.CleanMax))
	default:
		js.step.After(js.step.Set.CleanMax, step.TimerClean, uint64(j.ID))
	}
}

// leaveTraces ends a job whose temporary folders could not be deleted.
func (js *Jobs) leaveTraces(j *life.Job, why string) {
	js.life.NoteJob(j, why+": its temporary folders are left behind")
	js.step.Log(step.Warn, "a job's temporary folders are left behind", "job", j.ID.String(), "reason", why)
	js.keepParts(j, nil)
	js.jobOver(j, j.Outcome)
}

// jobOver takes a job out of the state; what is kept is its summary.
func (js *Jobs) jobOver(j *life.Job, outcome scheduler.JobOutcome) {
	j.Enter(life.JobLeaving)
	j.Outcome, j.Closed = outcome, 0
	if outcome == scheduler.JobSucceeded {
		js.bundles.Succeeded(j)
	}
	js.capacity.ReleaseForJob(j.ID)
	js.life.Touch(j)
	js.leave(j)
}

// gone ends the last of a job.
func (js *Jobs) gone(j *life.Job) {
	js.policy.TellJob(j.ID, scheduler.JobFinished{At: js.step.Now, Job: j.ID, Outcome: j.Outcome})
	js.step.Stats.Jobs[j.Outcome]++
	js.status.Remember(j)
	if i, found := slices.BinarySearch(js.life.Busy, j.ID); found {
		js.life.Busy = slices.Delete(js.life.Busy, i, i+1)
	}
	js.life.Jobs.Remove(j.ID)
	js.life.Touch(j)
}

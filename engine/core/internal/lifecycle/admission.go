package lifecycle

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Admission reserves ids for jobs, checks submissions, asks a policy that admits jobs, and admits
// or refuses them. It also records the jobs that no cluster of this size could run.
type Admission struct {
	base
	jobs *Jobs

	drafts map[*wire.JobSpec]*Draft // of the current step, see Expect
}

// askAdmission asks the policy to admit a job, if the policy admits jobs. While the first policy is
// starting its abilities are unknown, so the job waits for it.
func (ad *Admission) askAdmission(j *state.Job) {
	j.Enter(state.JobPendingAdmission)
	ad.jobs.ChooseKinds(j)
	ad.state.PastRuns.Expect(j, ad.step.Set.AheadBelow)
	switch {
	case ad.policy.Has(scheduler.AbilityAdmission):
		ad.ask(j)
	case ad.policy.Current() == nil && !ad.policy.Last.Known():
	case ad.admissionDown() && j.Submission.Accepted(): // no client can try again: it waits for the policy
	case ad.admissionDown():
		ad.turnAway(j, "the policy that admits jobs is down: try again later")
		return
	default:
		ad.admit(j)
		return
	}
	ad.step.SetTimer(ad.step.Set.AdmissionMax, step.TimerAdmission, uint64(j.ID))
}

// ask asks the policy to admit a job.
func (ad *Admission) ask(j *state.Job) {
	j.Submission.Ask(ad.step.Now)
	ad.policy.Notify(scheduler.AdmissionAsked{At: ad.step.Now, Job: j.ForPolicy()})
}

// admissionDown reports whether no job is admitted, because the policy that has to admit them is
// down.
func (ad *Admission) admissionDown() bool {
	return ad.policy.Down() && ad.policy.Last.Admits() && !ad.step.Set.AdmitWithoutPolicy
}

// AskAll asks a policy that has just taken over about the waiting jobs. A fallback leaves them to
// the policy that has to admit them.
func (ad *Admission) AskAll() {
	for _, j := range slices.Collect(ad.state.Jobs.All()) { // copied: some may be removed
		if j.Phase() != state.JobPendingAdmission {
			continue
		}
		err := ad.proved(j.Spec.GetPrincipal())
		switch {
		case err != nil:
			ad.turnAway(j, err.Error())
		case ad.policy.Has(scheduler.AbilityAdmission):
			ad.ask(j)
		case !ad.admissionDown():
			ad.admit(j)
		}
	}
}

// AdmissionExpired refuses a job that the policy did not admit in time. It admits the job
// instead if admission is only advice, or if the policy is down and need not admit jobs.
func (ad *Admission) AdmissionExpired(id scheduler.JobID) {
	j := ad.state.Jobs.Get(id)
	if j == nil || j.Phase() != state.JobPendingAdmission {
		return
	}
	if ad.policy.Down() && !ad.admissionDown() || ad.policy.Has(scheduler.AbilityAdvisoryAdmission) {
		ad.admit(j)
		return
	}
	if ad.askedLately(j) {
		return
	}
	ad.turnAway(j, fmt.Sprintf("the policy did not admit it within %v: try again later", ad.step.Set.AdmissionMax))
}

// askedLately reports whether the policy still has time to admit an accepted job, and sets the timer
// for the rest of it. No client can submit the job again, so a policy that was down does not cost
// it the time.
func (ad *Admission) askedLately(j *state.Job) bool {
	if !j.Submission.Accepted() {
		return false
	}
	left := j.Submission.Asked().Add(ad.step.Set.AdmissionMax).Sub(ad.step.Now)
	if ad.policy.Down() || ad.policy.Current() == nil || j.Submission.Asked() == 0 {
		left = ad.step.Set.AdmissionMax
	}
	if left <= 0 {
		return false
	}
	ad.step.SetTimer(left, step.TimerAdmission, uint64(j.ID))
	return true
}

// turnAway refuses a submission. Nothing of the job exists yet, unless it was accepted before.
func (ad *Admission) turnAway(j *state.Job, reason string) {
	ad.turnAwayFor(j, step.Invalid(fmt.Sprintf("%s was refused: %s", j.ID, reason)))
}

func (ad *Admission) turnAwayFor(j *state.Job, why *wire.Failure) {
	if j.Submission.Accepted() {
		ad.endUnadmitted(j, scheduler.JobFailed, why)
		return
	}
	j.Refuse(why)
	ad.step.Reply(j.Submission.Await(0), j.ID, why)
	ad.status.Remember(j, why)
	ad.state.RemoveJob(j)
	ad.endDependencies(j)
}

// Admit carries out the policy's decision to admit a job. If it names a pool, the access rules of
// that pool count too: the job's own names and properties may have led there.
func (ad *Admission) Admit(d scheduler.Admit) (scheduler.RefusalReason, string) {
	j := ad.state.Jobs.Get(d.Job)
	switch {
	case j == nil || j.Phase() == state.JobWaiting:
		return scheduler.UnknownID, fmt.Sprintf("%s is not there", d.Job)
	case j.Phase() != state.JobPendingAdmission:
		return scheduler.NotAsked, fmt.Sprintf("%s is in already", d.Job)
	}
	if err := ad.mayLand(j, d.Pool); err != nil {
		ad.turnAwayFor(j, step.Denied(err))
		return scheduler.NotRefused, ""
	}
	ad.admit(j)
	return scheduler.NotRefused, ""
}

// Refuse carries out the policy's decision to refuse a job.
func (ad *Admission) Refuse(d scheduler.Refuse) (scheduler.RefusalReason, string) {
	j := ad.state.Jobs.Get(d.Job)
	switch {
	case j == nil || j.Phase() == state.JobWaiting:
		return scheduler.UnknownID, fmt.Sprintf("%s is not there", d.Job)
	case j.Phase() != state.JobPendingAdmission:
		return scheduler.NotAsked, fmt.Sprintf("%s is in already", d.Job)
	}
	ad.turnAway(j, ad.step.Shorten(d.Reason))
	return scheduler.NotRefused, ""
}

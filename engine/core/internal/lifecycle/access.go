package lifecycle

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Who may do what is judged by the rules in force and by what the request carries: a name
// that the shell has proved, and groups. Without rules everybody may do everything.

func callerOf(p *wire.Principal) access.Caller {
	return access.Caller{Name: p.GetName(), Groups: p.GetGroups()}
}

func accessJob(j *state.Job) access.Job {
	return access.Job{Name: j.ID.String(), Owner: j.Spec.GetPrincipal().GetName(), Pool: j.Submission.Pool()}
}

// mayTake judges that somebody submits under a job's number: it is who announced the job,
// or submitted it before.
func (ad *Admission) mayTake(id scheduler.JobID, p *wire.Principal) error {
	if ad.step.Set.Access == nil {
		return nil
	}
	owner := ad.reservedFor(id)
	if j := ad.state.Jobs.Get(id); j != nil {
		owner = j.Spec.GetPrincipal().GetName()
	}
	if owner == "" || owner == p.GetName() {
		return nil
	}
	return &access.Refusal{Who: p.GetName(), What: fmt.Sprintf("submit %s", id), Missing: fmt.Sprintf("%s has that number: prepare another", owner)}
}

// reservedFor is to whom a job was announced that nobody submitted yet; "" when that is
// not known.
func (ad *Admission) reservedFor(id scheduler.JobID) string {
	return ad.state.ReservedIDs.Owner(id)
}

func (ad *Admission) maySubmit(spec *wire.JobSpec) error {
	rules := ad.step.Set.Access
	if rules == nil {
		return nil
	}
	return rules.Submit(callerOf(spec.GetPrincipal()), spec.GetPool())
}

// mayLand judges that a job comes to a pool to which the policy puts it; "": to the one that it names.
func (ad *Admission) mayLand(j *state.Job, pool string) error {
	rules := ad.step.Set.Access
	if rules == nil || pool == "" {
		return nil
	}
	if err := rules.Submit(callerOf(j.Spec.GetPrincipal()), pool); err != nil {
		return fmt.Errorf("the policy puts %s, which names pool %q, into pool %.200q, and %w", j.ID, j.Submission.Pool(), pool, err)
	}
	return nil
}

func (ad *Admission) mayUpdate(m *wire.UpdateJob) error {
	rules := ad.step.Set.Access
	j, there := ad.job(scheduler.JobID(m.GetJob()))
	if rules == nil || !there {
		return nil
	}
	return rules.Update(callerOf(m.GetPrincipal()), j, m.Pool)
}

func (ad *Admission) mayKill(id scheduler.JobID, p *wire.Principal) error {
	rules := ad.step.Set.Access
	j, there := ad.job(id)
	if rules == nil || !there {
		return nil
	}
	return rules.Change(callerOf(p), "kill", j)
}

// job is what the rules judge of a job: one that lives, is announced, or ended a while ago. Who may not
// change it is told nothing of how it is. False: there is none, or nobody knows whose it is.
func (ad *Admission) job(id scheduler.JobID) (access.Job, bool) {
	if live := ad.state.Jobs.Get(id); live != nil {
		return accessJob(live), true
	}
	if s := ad.endedJob(id); s != nil {
		return access.Job{Name: id.String(), Owner: s.GetUser(), Pool: s.GetPool()}, true
	}
	owner := ad.reservedFor(id)
	return access.Job{Name: id.String(), Owner: owner}, owner != ""
}

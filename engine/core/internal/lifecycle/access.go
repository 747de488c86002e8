package lifecycle

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Access is decided by the rules in force and by the request: the name of the caller, which the
// shell has authenticated, and its groups. Without rules everybody may do everything.

func callerOf(p *wire.Principal) access.Caller {
	return access.Caller{Name: p.GetName(), Groups: p.GetGroups()}
}

func accessJob(j *state.Job) access.Job {
	return access.Job{Name: j.ID.String(), Owner: j.Spec.GetPrincipal().GetName(), Pool: j.Submission.Pool()}
}

func accessOf(s *wire.JobSummary) access.Job {
	return access.Job{Name: scheduler.JobID(s.GetJob()).String(), Owner: s.GetUser(), Pool: s.GetPool()}
}

// mayTake decides whether a caller may submit under a job's number: only the user that reserved it,
// or submitted under it before, may.
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

// reservedFor returns the user that reserved a job's id and has not submitted it; "": unknown.
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

// mayLand decides whether a job may enter the pool that the policy chose; "": the pool that it
// names.
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

func (ad *Admission) mayRetry(id scheduler.JobID, p *wire.Principal) error {
	rules := ad.step.Set.Access
	j, there := ad.job(id)
	if rules == nil || !there {
		return nil
	}
	return rules.Change(callerOf(p), "retry", j)
}

// job is the rules' data of a job that is live, announced, or ended a while ago. A caller that may
// not change it does not learn its state. False: there is none, or its owner is unknown.
func (ad *Admission) job(id scheduler.JobID) (access.Job, bool) {
	if live := ad.state.Jobs.Get(id); live != nil {
		return accessJob(live), true
	}
	if s := ad.endedJob(id); s != nil {
		return accessOf(s), true
	}
	owner := ad.reservedFor(id)
	return access.Job{Name: id.String(), Owner: owner}, owner != ""
}

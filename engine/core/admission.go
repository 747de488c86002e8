package core

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// askAdmission asks the policy whether a job may come in, if there is one that
// wants to be asked. While the first policy is starting nobody knows whether it
// does, so the job waits for it.
func (c *Core) askAdmission(j *job) {
	j.phase = jobAsked
	running := c.policy.Current() != nil
	switch {
	case c.policy.Has(scheduler.AbilityAdmission):
		c.policy.Tell(scheduler.AdmissionAsked{At: c.step.Now, Job: j.forPolicy()})
	case !running && !c.policy.Known():
	case !running && c.policy.Admits() && !c.step.Set.AdmitWithoutPolicy:
		c.turnAway(j, "the policy that admits jobs is down: try again later")
		return
	default:
		c.start(j)
		return
	}
	c.step.After(c.step.Set.AdmissionMax, step.TimerAdmission, uint64(j.id))
}

// askAll asks a policy that has just taken over about the jobs that wait.
func (c *Core) askAll() {
	for j := range c.jobs.All() {
		if j.phase != jobAsked {
			continue
		}
		if c.policy.Has(scheduler.AbilityAdmission) {
			c.policy.Tell(scheduler.AdmissionAsked{At: c.step.Now, Job: j.forPolicy()})
		} else {
			c.start(j)
		}
	}
}

func (c *Core) admissionExpired(id scheduler.JobID) {
	j := c.jobs.Get(id)
	if j == nil || j.phase != jobAsked {
		return
	}
	if c.policy.Current() == nil && (c.step.Set.AdmitWithoutPolicy || !c.policy.Known()) {
		// Nothing ever said that somebody has to admit it: let it in to wait.
		c.start(j)
		return
	}
	c.turnAway(j, fmt.Sprintf("the policy did not admit it within %v: try again later", c.step.Set.AdmissionMax))
}

// turnAway refuses a submission before anything of it exists.
func (c *Core) turnAway(j *job, reason string) {
	j.failure, j.outcome = step.Invalid(fmt.Sprintf("%s was refused: %s", j.id, reason)), scheduler.JobFailed
	c.step.Reply(j.client, j.id, j.failure)
	c.remember(j)
	c.ended[len(c.ended)-1].refused = j.failure
	c.jobs.Remove(j.id)
	c.touch(j)
}

func (c *Core) admit(d scheduler.Admit) (scheduler.RefusalReason, string) {
	j := c.jobs.Get(d.Job)
	switch {
	case j == nil:
		return scheduler.UnknownID, fmt.Sprintf("%s is not there", d.Job)
	case j.phase != jobAsked:
		return scheduler.NotAsked, fmt.Sprintf("%s is in already", d.Job)
	}
	c.start(j)
	return scheduler.NotRefused, ""
}

func (c *Core) refuse(d scheduler.Refuse) (scheduler.RefusalReason, string) {
	j := c.jobs.Get(d.Job)
	switch {
	case j == nil:
		return scheduler.UnknownID, fmt.Sprintf("%s is not there", d.Job)
	case j.phase != jobAsked:
		return scheduler.NotAsked, fmt.Sprintf("%s is in already", d.Job)
	}
	c.turnAway(j, c.step.Short(d.Reason))
	return scheduler.NotRefused, ""
}

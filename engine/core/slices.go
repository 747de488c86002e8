package core

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// While the core steps, everybody waits. What is long by nature is done in slices: the
// start and the end of a job with very many bundles, a snapshot of them, an answer with very many
// decisions, very many timers that are due at once. A step does Settings.StepWork of
// it and leaves the rest in the state, as a cursor. NextWake is then at once, so the
// rest is done in the steps that follow, together with what came meanwhile.

// goOn goes on with what earlier steps left.
func (c *Core) goOn() {
	if c.policy.Deciding() != nil {
		c.decide()
	}
	for _, id := range slices.Clone(c.busy) {
		c.goOnWith(c.jobs.Get(id))
	}
	c.gather()
}

// waitsForRound says whether all that a later step has to go on with are jobs that offer
// no more bundles until the next round has left.
func (c *Core) waitsForRound() bool {
	return c.policy.Crowded(c.step.Set.RoundEvents) && !slices.ContainsFunc(c.busy, func(id scheduler.JobID) bool {
		j := c.jobs.Get(id)
		return j.phase != jobRunning || j.inputs.Telling()
	})
}

func (c *Core) goOnWith(j *job) {
	switch j.phase {
	case jobRunning:
		c.open(j)
		if j.phase == jobRunning { // else it is over
			c.tellAllReaders(j)
		}
	case jobEnding:
		c.stopAll(j)
	case jobLeaving:
		c.leave(j)
	}
}

// open makes the bundles of a job that starts known, and offers those that wait for
// nothing. Until it has come to a bundle, that neither starts nor becomes ready.
func (c *Core) open(j *job) {
	for j.opened < len(j.plan.Bundles) && !c.policy.Crowded(c.step.Set.RoundEvents) && c.step.Spend(workOpen) {
		b := &j.bundles[j.opened]
		j.opened++
		b.id = j.first + scheduler.BundleID(b.index)
		c.bundles.Set(b.id, b)
		c.recheck(b)
	}
	c.noteWork(j)
	if j.opened == len(j.plan.Bundles) {
		c.checkDone(j)
	}
}

// stopAll takes the ready bundles of a job that ends back and stops its attempts. Then
// it goes on with its end, when nothing of it runs any more.
func (c *Core) stopAll(j *job) {
	for j.closed < len(j.bundles) && c.step.Spend(workClose) {
		if j.closed == j.opened { // what it never came to neither is ready nor runs
			j.closed = max(j.closed, len(j.plan.Bundles))
			if j.lastBundle() == nil {
				break
			}
		}
		b := &j.bundles[j.closed]
		j.closed++
		if b.phase == bundleReady {
			c.withdraw(b)
		}
		for _, r := range b.runs {
			c.stopForEnd(r)
		}
	}
	c.noteWork(j)
	c.checkQuiet(j)
}

// leave takes what is left of a job that is over out of the state, and has launchers
// drop what they have of it.
func (c *Core) leave(j *job) {
	for ; j.closed < len(j.bundles) && c.step.Spend(workClose); j.closed++ {
		b := &j.bundles[j.closed]
		c.bundles.Delete(b.id)
		for _, k := range b.kept {
			if l := c.launchers.Get(k.launcher); l != nil {
				delete(l.outputs, k.attempt)
			}
		}
	}
	if j.closed < len(j.bundles) {
		c.noteWork(j)
		return
	}
	for len(j.ranOn) > 0 && c.step.Spend(workStop) {
		if l := c.launchers.Get(j.ranOn[0]); l != nil {
			c.dropJob(l, j.id)
		}
		j.ranOn = j.ranOn[1:]
	}
	if len(j.ranOn) > 0 {
		c.noteWork(j)
		return
	}
	c.gone(j)
}

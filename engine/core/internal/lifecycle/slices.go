package lifecycle

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// Continue goes on with what earlier steps left of a job.
func (js *Jobs) Continue(j *state.Job) {
	switch j.Phase() {
	case state.JobRunning:
		js.Open(j)
		if j.Phase() == state.JobRunning { // else it is over
			js.bundles.ContinueReaders(j)
		}
	case state.JobEnding:
		js.stopAll(j)
	case state.JobRemoving:
		js.remove(j)
	}
}

// Open gives the bundles of a job that starts their ids, and offers those that wait for nothing. A
// bundle that it has not reached neither starts nor becomes ready.
func (js *Jobs) Open(j *state.Job) {
	for j.Opened < len(j.Plan.Bundles) && !js.policy.Backlogged(js.step.Set.RoundEvents) && js.step.ConsumeBudget(step.WorkOpen) {
		b := &j.Bundles[j.Opened]
		j.Opened++
		js.state.AssignID(b)
		js.bundles.Recheck(b)
	}
	js.state.RequeueJob(j)
	if j.Opened == len(j.Plan.Bundles) {
		js.checkDone(j)
	}
}

// stopAll withdraws the ready bundles of a job that ends and stops its attempts. Then the end goes
// on, when nothing of the job runs any more.
func (js *Jobs) stopAll(j *state.Job) {
	for j.Closed < len(j.Bundles) && js.step.ConsumeBudget(step.WorkClose) {
		if j.Closed == j.Opened { // what it never came to neither is ready nor runs
			j.Closed = max(j.Closed, len(j.Plan.Bundles))
			if j.LastBundle() == nil {
				break
			}
		}
		b := &j.Bundles[j.Closed]
		j.Closed++
		if b.Phase() == state.BundleReady {
			js.bundles.Withdraw(b)
		}
		for _, r := range b.Attempts() {
			js.dispatch.StopForEnd(r)
		}
	}
	js.state.RequeueJob(j)
	js.checkQuiet(j)
}

// remove takes what is left of a job that is over out of the state, and has launchers drop what
// they have of it.
func (js *Jobs) remove(j *state.Job) {
	for ; j.Closed < len(j.Bundles) && js.step.ConsumeBudget(step.WorkClose); j.Closed++ {
		b := &j.Bundles[j.Closed]
		js.state.Bundles.Delete(b.ID())
		for _, k := range b.LastCommits() {
			if l := js.state.Launchers.Get(k.Launcher); l != nil {
				delete(l.Outputs, k.Attempt)
			}
		}
	}
	if j.Closed < len(j.Bundles) {
		js.state.RequeueJob(j)
		return
	}
	for len(j.RanOn) > 0 && js.step.ConsumeBudget(step.WorkStop) {
		if l := js.state.Launchers.Get(j.RanOn[0]); l != nil {
			js.dispatch.DropJob(l, j.ID)
		}
		j.RanOn = j.RanOn[1:]
	}
	if len(j.RanOn) > 0 {
		js.state.RequeueJob(j)
		return
	}
	js.removed(j)
}

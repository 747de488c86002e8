package lifecycle

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// Continue continues a job's work left by earlier steps.
func (js *Jobs) Continue(j *state.Job) {
	switch j.Phase() {
	case state.JobRunning:
		js.Open(j)
		if j.Phase() == state.JobRunning { // otherwise it is over
			js.bundles.ContinueReaders(j)
			js.SweepElements(j)
		}
	case state.JobEnding:
		js.stopAll(j)
	case state.JobRemoving:
		js.remove(j)
	}
}

// Open gives the bundles of a starting job their ids, and offers those without inputs. A bundle
// that it has not reached neither starts nor becomes ready.
func (js *Jobs) Open(j *state.Job) {
	for !j.Slices.AllOpen() && !js.policy.Backlogged(js.step.Set.RoundEvents) && js.step.ConsumeBudget(step.WorkOpen) {
		if b := js.state.OpenNext(j); b.Element.Ends() { // it was killed before
			js.giveUp(b)
		} else {
			js.bundles.Recheck(b)
		}
	}
	js.state.RequeueJob(j)
	if j.Slices.AllOpen() {
		js.checkDone(j)
	}
}

// stopAll withdraws the ready bundles of an ending job and stops its attempts. The end continues
// when none of the job's attempts runs any more.
func (js *Jobs) stopAll(j *state.Job) {
	for !j.Slices.AllClosed() && js.step.ConsumeBudget(step.WorkClose) {
		b := j.CloseNext()
		if b == nil {
			break
		}
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

// remove removes the rest of an ended job from the state, and makes launchers drop their data of
// it.
func (js *Jobs) remove(j *state.Job) {
	for !j.Slices.AllClosed() && js.step.ConsumeBudget(step.WorkClose) {
		js.state.RemoveNext(j)
	}
	if !j.Slices.AllClosed() {
		js.state.RequeueJob(j)
		return
	}
	for len(j.RanOn.IDs()) > 0 && js.step.ConsumeBudget(step.WorkStop) {
		if l := js.state.Launchers.Get(j.RanOn.RemoveFirst()); l != nil {
			js.dispatch.DropJob(l, j.ID)
		}
	}
	if len(j.RanOn.IDs()) > 0 {
		js.state.RequeueJob(j)
		return
	}
	js.removed(j)
}

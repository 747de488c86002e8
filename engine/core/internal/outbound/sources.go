package outbound

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Miss records that an attempt needs a source once it is stored.
func (dp *Dispatcher) Miss(a *state.Attempt, k dataflow.Key) {
	a.BundleAttempt.Bundle.Job.Inputs.Miss(&a.Reads, a.ID, k)
	dp.state.Changes.MarkAttempt(a)
	dp.WatchWaiting(a.BundleAttempt.Bundle.Job)
}

// Supply gives a new or restored source to the readers that miss it.
func (dp *Dispatcher) Supply(j *state.Job, k dataflow.Key) {
	source := dp.state.Source(j)
	if b, _ := j.GroupOf(j.Inputs.Files.Writer(k)); b.Tries.Losses() > 0 {
		dp.resupply(j, k)
	}
	dp.Feeds.Supply(&j.Inputs, k, source)
}

// resupply sends readers the new location of a source that was made again, before they find out
// that the old one is gone. Readers that have read it already ignore that.
func (dp *Dispatcher) resupply(j *state.Job, k dataflow.Key) {
	for _, a := range j.Attempts().Sorted() {
		if !a.Reads.IsMissing(k) && a.Stop() == nil && j.Inputs.Reads(a.BundleAttempt.Bundle.Nodes(a.Group), k) {
			dp.Miss(a, k)
			dp.Feeds.SupplyTo(&j.Inputs, &a.Reads, k, dp.state.Source(j))
		}
	}
}

// StopWaiting removes an ended attempt from the waiting readers.
func (dp *Dispatcher) StopWaiting(a *state.Attempt) {
	a.BundleAttempt.Bundle.Job.Inputs.End(&a.Reads)
	dp.Feeds.Drop(a.ID)
}

// DropOutput makes a launcher delete an attempt's stored output.
func (dp *Dispatcher) DropOutput(k *state.Commit, j *state.Job) {
	l := dp.state.Launchers.Get(k.Launcher)
	if !k.Stored || k.Lost || l == nil || !l.Up || l.Outputs.Get(k.Attempt) == nil {
		return
	}
	l.Outputs.Drop(k.Attempt)
	dp.Command(l, &wire.Command{Do: &wire.Command_DropOutput{DropOutput: &wire.Stored{Job: uint64(j.ID), Attempt: uint64(k.Attempt)}}})
}

// WatchWaiting sets the timer that looks for work that a job's readers wait for.
func (dp *Dispatcher) WatchWaiting(j *state.Job) {
	if j.Waits.WatchReaders() {
		// A launch since then postpones it.
		dp.step.SetTimer(max(dp.step.Set.ReclaimAfter-dp.step.Now.Sub(j.LastLaunch()), dp.step.Set.ReclaimAfter/reclaimLooks), step.TimerReclaim, uint64(j.ID))
	}
}

// reclaimLooks is how often a job's waiting readers are checked within reclaimAfter.
const reclaimLooks = 4

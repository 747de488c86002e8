package outbound

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Miss notes that an attempt has to be given a source when it is there.
func (dp *Dispatcher) Miss(a *state.Attempt, k dataflow.Key) {
	a.BundleAttempt.Bundle.Job.Inputs.Miss(&a.Reads, a.ID, k)
	dp.state.Changes.MarkAttempt(a)
	dp.WatchWaiting(a.BundleAttempt.Bundle.Job)
}

// Supply gives a source that came back, or came at last, to the readers that miss it.
func (dp *Dispatcher) Supply(j *state.Job, k dataflow.Key) {
	source := dp.state.Source(j)
	if b, _ := j.GroupOf(j.Inputs.Files.Writer(k)); b.Tries.Losses() > 0 {
		dp.resupply(j, k)
	}
	dp.Feeds.Supply(&j.Inputs, k, source)
}

// resupply tells readers of a source that was made again where it is now, before
// they find out that the old one is gone. Those that read it already don't look.
func (dp *Dispatcher) resupply(j *state.Job, k dataflow.Key) {
	for _, a := range j.Attempts().Sorted() {
		if !a.Reads.IsMissing(k) && a.Stop() == nil && j.Inputs.Files.Reads(a.BundleAttempt.Bundle.Nodes(a.Group), k) {
			dp.Miss(a, k)
			dp.Feeds.SupplyTo(&j.Inputs, &a.Reads, k, dp.state.Source(j))
		}
	}
}

// StopWaiting ends the reading of an attempt that ended.
func (dp *Dispatcher) StopWaiting(a *state.Attempt) {
	a.BundleAttempt.Bundle.Job.Inputs.End(&a.Reads)
	dp.Feeds.Drop(a.ID)
}

// DropOutput has a launcher delete what an attempt stored.
func (dp *Dispatcher) DropOutput(k *state.Commit, j *state.Job) {
	l := dp.state.Launchers.Get(k.Launcher)
	if !k.Stored || k.Lost || l == nil || !l.Up || l.Outputs.Get(k.Attempt) == nil {
		return
	}
	l.Outputs.Drop(k.Attempt)
	dp.Command(l, &wire.Command{Do: &wire.Command_DropOutput{DropOutput: &wire.Stored{Job: uint64(j.ID), Attempt: uint64(k.Attempt)}}})
}

// WatchWaiting sets the timer that looks for work that readers of a job wait for.
func (dp *Dispatcher) WatchWaiting(j *state.Job) {
	if j.Waits.WatchReaders() {
		// A launch since then puts it off.
		dp.step.SetTimer(max(dp.step.Set.ReclaimAfter-dp.step.Now.Sub(j.LastLaunch()), dp.step.Set.ReclaimAfter/reclaimLooks), step.TimerReclaim, uint64(j.ID))
	}
}

// reclaimLooks bounds how often a job's waiting readers are looked at: so many
// times in reclaimAfter.
const reclaimLooks = 4

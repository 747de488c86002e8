package outbound

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Miss notes that an attempt has to be given a source when it is there.
func (od *Dispatcher) Miss(a *state.Attempt, k dataflow.Key) {
	a.BundleAttempt.Bundle.Job.Inputs.Miss(&a.Reads, a.ID, k)
	od.state.MarkAttemptDirty(a)
	od.WatchWaiting(a.BundleAttempt.Bundle.Job)
}

// Supply gives a source that came back, or came at last, to who misses it.
func (od *Dispatcher) Supply(j *state.Job, k dataflow.Key) {
	source := od.state.Source(j)
	if b, _ := j.GroupOf(j.Inputs.Writer(k)); b.Losses > 0 {
		od.resupply(j, k)
	}
	od.Feeds.Supply(&j.Inputs, k, source)
}

// resupply tells readers of a source that was made again where it is now, before
// they find out that the old one is gone. Those that read it already don't look.
func (od *Dispatcher) resupply(j *state.Job, k dataflow.Key) {
	for _, a := range j.Attempts.Sorted() {
		if !a.Reads.IsMissing(k) && a.Stop() == nil && j.Inputs.Reads(a.BundleAttempt.Bundle.Nodes(a.Group), k) {
			od.Miss(a, k)
			od.Feeds.SupplyTo(&j.Inputs, &a.Reads, k, od.state.Source(j))
		}
	}
}

// StopWaiting ends the reading of an attempt that ended.
func (od *Dispatcher) StopWaiting(a *state.Attempt) {
	a.BundleAttempt.Bundle.Job.Inputs.End(&a.Reads)
	od.Feeds.Drop(a.ID)
}

// DropOutput tells a launcher to delete what an attempt stored.
func (od *Dispatcher) DropOutput(k *state.Commit, j *state.Job) {
	l := od.state.Launchers.Get(k.Launcher)
	if !k.Stored || k.Lost || l == nil || !l.Up || l.Outputs[k.Attempt] == nil {
		return
	}
	delete(l.Outputs, k.Attempt)
	od.Command(l, &wire.Command{Do: &wire.Command_DropOutput{DropOutput: &wire.Stored{Job: uint64(j.ID), Attempt: uint64(k.Attempt)}}})
}

// WatchWaiting sets the timer that looks for work that readers of a job wait for.
func (od *Dispatcher) WatchWaiting(j *state.Job) {
	if !j.WatchingReaders {
		j.WatchingReaders = true
		// A launch since then puts it off.
		od.step.SetTimer(max(od.step.Set.TakeBackAfter-od.step.Now.Sub(j.LastLaunch), od.step.Set.TakeBackAfter/reclaimLooks), step.TimerReclaim, uint64(j.ID))
	}
}

// takeBackLooks bounds how often a job's waiting readers are looked at: so many
// times in takeBackAfter.
const reclaimLooks = 4

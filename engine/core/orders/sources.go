package orders

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Miss notes that an attempt has to be given a source when it is there.
func (od *Orders) Miss(a *state.Attempt, k dataflow.Key) {
	a.Run.Bundle.Job.Inputs.Miss(&a.Reads, a.ID, k)
	od.life.TouchAttempt(a)
	od.WatchWaiting(a.Run.Bundle.Job)
}

// Supply gives a source that came back, or came at last, to who misses it.
func (od *Orders) Supply(j *state.Job, k dataflow.Key) {
	source := od.life.Source(j)
	if b, _ := j.GroupOf(j.Inputs.Writer(k)); b.Losses > 0 {
		od.resupply(j, k)
	}
	od.Feeds.Supply(&j.Inputs, k, source)
}

// resupply tells readers of a source that was made again where it is now, before
// they find out that the old one is gone. Those that read it already don't look.
func (od *Orders) resupply(j *state.Job, k dataflow.Key) {
	for _, a := range j.Attempts.Sorted() {
		if !a.Reads.IsMissing(k) && a.Stop() == nil && j.Inputs.Reads(a.Run.Bundle.Nodes(a.Group), k) {
			od.Miss(a, k)
			od.Feeds.SupplyTo(&j.Inputs, &a.Reads, k, od.life.Source(j))
		}
	}
}

// StopWaiting ends the reading of an attempt that ended.
func (od *Orders) StopWaiting(a *state.Attempt) {
	a.Run.Bundle.Job.Inputs.End(&a.Reads)
	od.Feeds.Drop(a.ID)
}

// DropOutput tells a launcher to delete what an attempt stored.
func (od *Orders) DropOutput(k *state.Commit, j *state.Job) {
	l := od.life.Launchers.Get(k.Launcher)
	if !k.Stored || k.Lost || l == nil || !l.Up || l.Outputs[k.Attempt] == nil {
		return
	}
	delete(l.Outputs, k.Attempt)
	od.Command(l, &wire.Command{Do: &wire.Command_DropOutput{DropOutput: &wire.Stored{Job: uint64(j.ID), Attempt: uint64(k.Attempt)}}})
}

// WatchWaiting sets the timer that looks for work that readers of a job wait for.
func (od *Orders) WatchWaiting(j *state.Job) {
	if !j.Watched {
		j.Watched = true
		// A launch since then puts it off.
		od.step.After(max(od.step.Set.TakeBackAfter-od.step.Now.Sub(j.LastLaunch), od.step.Set.TakeBackAfter/takeBackLooks), step.TimerTakeBack, uint64(j.ID))
	}
}

// takeBackLooks bounds how often a job's waiting readers are looked at: so many
// times in takeBackAfter.
const takeBackLooks = 4

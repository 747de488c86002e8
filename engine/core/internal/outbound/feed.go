package outbound

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Feed gives an attempt what is there of what it misses, as much as it takes at once.
func (od *Dispatcher) Feed(a *state.Attempt) {
	if a.Reads.Misses() == 0 {
		return
	}
	if j := a.BundleAttempt.Bundle.Job; !od.Feeds.Fill(&j.Inputs, &a.Reads, od.state.Source(j)) {
		od.step.SetTimer(1, step.TimerFeed, uint64(a.ID))
	}
}

// SourcesTaken takes a worker's word that it has what an update told.
func (od *Dispatcher) SourcesTaken(a *state.Attempt, update uint64) {
	if a.Reads.Taken(update) {
		od.Feed(a)
	}
}

// GiveAgain begins anew with what was on its way to a launcher whose stream broke.
func (od *Dispatcher) RedeliverSources(a *state.Attempt) {
	if a.BundleAttempt.Bundle.Job.Inputs.MissUnconfirmed(&a.Reads) {
		od.state.MarkAttemptDirty(a)
		od.WatchWaiting(a.BundleAttempt.Bundle.Job)
	}
	od.Feed(a)
}

// FlushSources sends each reader what a step gave it, in one message.
func (od *Dispatcher) FlushSources() {
	for id, m := range od.Feeds.End() {
		a := od.state.Attempts.Get(id)
		if a == nil {
			continue
		}
		od.state.MarkAttemptDirty(a) // it may miss nothing any more
		if a.Launcher.Up {
			od.Command(a.Launcher, &wire.Command{Do: &wire.Command_Sources{Sources: m}})
		}
	}
}

// sourcesOf lists the sources that an attempt starts with.
func (od *Dispatcher) sourcesOf(a *state.Attempt) []*wire.Source {
	j := a.BundleAttempt.Bundle.Job
	if !j.Inputs.HasFileConnections() {
		return nil
	}
	l := j.Inputs.List(&a.Reads, a.ID, a.BundleAttempt.Bundle.NodesWithFiles(a.Group), od.step.Set.CommandBytes, od.state.Source(j))
	if l.Missed {
		od.state.MarkAttemptDirty(a)
		od.WatchWaiting(j)
	}
	od.step.AddCost(l.Looked/looksAtOnce + len(l.Sources))
	return l.Sources
}

// looksAtOnce is how many looks whether an output is there count for one in
// Settings.StepWork.
const looksAtOnce = 256

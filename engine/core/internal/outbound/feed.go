package outbound

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Feed gives an attempt the available ones of its missing sources, at most an update's worth.
func (dp *Dispatcher) Feed(a *state.Attempt) {
	if a.Reads.Misses() == 0 {
		return
	}
	if j := a.BundleAttempt.Bundle.Job; !dp.Feeds.Fill(&j.Inputs, &a.Reads, dp.state.Source(j)) {
		dp.step.SetTimer(1, step.TimerFeed, uint64(a.ID))
	}
}

// SourcesTaken records that a worker confirmed an update, and sends the next.
func (dp *Dispatcher) SourcesTaken(a *state.Attempt, update uint64) {
	if a.Reads.Taken(update) {
		dp.Feed(a)
	}
}

// RedeliverSources restarts the delivery of unconfirmed sources to a launcher whose stream broke.
func (dp *Dispatcher) RedeliverSources(a *state.Attempt) {
	if a.BundleAttempt.Bundle.Job.Inputs.MissUnconfirmed(&a.Reads) {
		dp.state.Changes.MarkAttempt(a)
		dp.WatchWaiting(a.BundleAttempt.Bundle.Job)
	}
	dp.Feed(a)
}

// FlushSources sends each reader its sources of a step, in one message.
func (dp *Dispatcher) FlushSources() {
	for id, m := range dp.Feeds.End() {
		a := dp.state.Attempts.Get(id)
		if a == nil {
			continue
		}
		dp.state.Changes.MarkAttempt(a) // it may miss no sources any more
		if a.Launcher.Up {
			dp.Command(a.Launcher, &wire.Command{Do: &wire.Command_Sources{Sources: m}})
		}
	}
}

// sourcesOf lists the sources that an attempt starts with.
func (dp *Dispatcher) sourcesOf(a *state.Attempt) []*wire.Source {
	j := a.BundleAttempt.Bundle.Job
	if !j.Inputs.Files.HasConnections() {
		return nil
	}
	l := j.Inputs.List(&a.Reads, a.ID, a.BundleAttempt.Bundle.NodesWithFiles(a.Group), dp.step.Set.CommandBytes, dp.state.Source(j))
	if l.Missed {
		dp.state.Changes.MarkAttempt(a)
		dp.WatchWaiting(j)
	}
	dp.step.AddCost(l.Looked/looksAtOnce + len(l.Sources))
	return l.Sources
}

// looksAtOnce is the number of checks for a stored output that count for one in Settings.StepWork.
const looksAtOnce = 256

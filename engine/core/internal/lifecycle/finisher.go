package lifecycle

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A job's last group publishes its outputs, or deletes its temporary files. The core starts it
// without the policy. It needs neither slots nor launchers' memory for tasks, so it never waits
// behind those. Settings.FinishersMax bounds how many run on a launcher at once.

// Finishers starts the last groups of jobs.
type Finishers struct {
	base
	attempts *Attempts
}

// StartAll starts the ready last groups, as far as launchers have room.
func (fs *Finishers) StartAll() {
	for i := 0; i < len(fs.state.Finishing()); {
		b := fs.state.Jobs.Get(fs.state.Finishing()[i]).LastBundle()
		if l := fs.launcherFor(b); l != nil {
			fs.Start(b, l) // and it leaves the list
			continue
		}
		if fs.launcherFor(nil) == nil { // no other job would find one either
			return
		}
		i++
	}
}

// Start starts the last group of a job on a launcher.
func (fs *Finishers) Start(b *state.Bundle, l *state.Launcher) {
	fs.attempts.startBundleAttempt(b, []*state.Launcher{l}, false, false)
}

// ranOnLooks bounds the launchers on which a job ran that are tried before all others.
const ranOnLooks = 16

// launcherFor returns the launcher with the fewest last groups that may run a job's last bundle;
// nil: none may. A launcher where the job ran has its program, and so is preferred. A launcher that
// the site excludes is used if there is no other. For bundle nil it returns a launcher with room
// for any.
func (fs *Finishers) launcherFor(b *state.Bundle) (best *state.Launcher) {
	if b != nil {
		ran := b.Job.RanOn.IDs()
		for _, id := range ran[:min(len(ran), ranOnLooks)] {
			best = fs.better(best, fs.state.Launchers.Get(id), b, false)
		}
	}
	for _, excluded := range []bool{false, true} {
		if best != nil {
			return best
		}
		for _, id := range fs.state.Launchers.IDs() {
			best = fs.better(best, fs.state.Launchers.Get(id), b, excluded)
		}
	}
	return best
}

// better returns the better of two launchers for a last group: the first, unless the second may run
// it and runs fewer.
func (fs *Finishers) better(best, l *state.Launcher, b *state.Bundle, excluded bool) *state.Launcher {
	switch {
	case l == nil || !l.Up || l.Draining || l.Excluded && !excluded:
	case l.Finishers() >= fs.step.Set.FinishersMax || b != nil && avoids(b, l.ID):
	case best == nil || l.Finishers() < best.Finishers():
		return l
	}
	return best
}

func avoids(b *state.Bundle, id scheduler.LauncherID) bool {
	return b.Job.Exclusions.Excludes(id) || b.Exclusions.Excludes(id)
}

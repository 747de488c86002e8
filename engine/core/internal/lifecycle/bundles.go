package lifecycle

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
)

// Bundles offers bundles to the policy as their inputs open, withdraws them as those close, and
// has them exclude the launchers on which they failed.
type Bundles struct {
	base

	kinds   map[string]int // of slots: the most that a launcher has; nil: nobody asked
	kindsAt uint64         // after so many moves of launchers
}

// BundlesTried bounds how many ready bundles are tried for a preemption that
// names none.
const BundlesTried = 16

// Fits says whether a bundle would have room: on the launchers named, or on any.
func (bs *Bundles) Fits(b *state.Bundle, where []*resources.Launcher, freed resources.Freed) bool {
	return bs.resources.Launchers.Fits(b, where, freed, func(l *resources.Launcher) bool { return b.Unavailable(l) == "" })
}

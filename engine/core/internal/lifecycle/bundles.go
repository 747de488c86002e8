package lifecycle

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
)

// Bundles offers bundles to the policy as their inputs open, and withdraws them as those close. It
// makes them exclude the launchers on which they failed.
type Bundles struct {
	base

	kinds   map[string]int  // of slots: the most that a launcher has; nil: not computed
	fits    map[string]bool // by shape of a bundle: whether all launchers together could hold it
	kindsAt uint64          // the moves of launchers at these computations
}

// BundlesTried bounds the ready bundles that are tried for a preemption without a named one.
const BundlesTried = 16

// Fits reports whether a bundle would have room: on the launchers named, or on any.
func (bs *Bundles) Fits(b *state.Bundle, where []*resources.Launcher, freed resources.Freed) bool {
	return bs.resources.Launchers.Fits(b, where, freed, func(l *resources.Launcher) bool { return b.Unavailable(l) == "" })
}

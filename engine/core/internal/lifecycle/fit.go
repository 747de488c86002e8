package lifecycle

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
)

// BundlesTried bounds how many ready bundles are tried for a preemption that
// names none.
const BundlesTried = 16

// Fits says whether a bundle would have room: on the launchers named, or on any.
func (bs *Bundles) Fits(b *state.Bundle, where []*resources.Launcher, freed resources.Freed) bool {
	return bs.resources.Fits(b, where, freed, func(l *resources.Launcher) bool { return b.Unavailable(l) == "" })
}

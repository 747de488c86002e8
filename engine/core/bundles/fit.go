package bundles

import (
	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/life"
)

// BundlesTried bounds how many ready bundles are tried for a preemption that
// names none.
const BundlesTried = 16

// Fits says whether a bundle would have room: on the launchers named, or on any.
func (bs *Bundles) Fits(b *life.Bundle, where []*capacity.Launcher, freed capacity.Freed) bool {
	return bs.capacity.Fits(b, where, freed, func(l *capacity.Launcher) bool { return b.Unavailable(l) == "" })
}

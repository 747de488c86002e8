package lifecycle

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
)

// Attempts takes attempts from the launch of a bundle to their end: started, suspended and
// resumed, committed, failed or lost.
type Attempts struct {
	base
	bundles     *Bundles
	jobs        *Jobs
	speculation *Speculation

	where   []*state.Launcher     // of the current launch
	targets []*resources.Launcher // the same launchers
}

package outbound

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// Dispatcher sends commands to launchers: start, stop, suspend or resume an attempt, give it
// sources, forget an end, delete an output.
type Dispatcher struct {
	step   *step.Step
	state  *state.Cluster
	events *PolicyEvents
	offers *resources.Offers

	Feeds dataflow.Feed // the current step's sources for readers
}

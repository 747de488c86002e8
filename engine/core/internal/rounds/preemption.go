package rounds

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/lifecycle"
	"github.com/hamadryad/hamadryad/engine/core/internal/outbound"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// Preemption takes slots from attempts for others: from victims that the policy names, and from
// early readers that hold the slots of work that they wait for.
type Preemption struct {
	step      *step.Step
	ids       *ids.IDs
	resources *resources.Resources
	state     *state.Cluster
	events    *outbound.PolicyEvents
	dispatch  *outbound.Dispatcher
	bundles   *lifecycle.Bundles
	attempts  *lifecycle.Attempts
}

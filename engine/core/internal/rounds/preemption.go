// Package preemption takes attempts off their slots for others: victims that the policy
// names, and early readers that stand in the way of what they wait for.
//
// # What holds
//
// What victims free is reserved for the beneficiary, for a bounded time. Nobody is taken off
// when the beneficiary would not fit all the same.
package rounds

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/lifecycle"

	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/outbound"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// Preemption does that. Not safe for concurrent use.
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

// New returns one of the state that it is given.
func NewPreemption(s *step.Step, i *ids.IDs, c *resources.Resources, l *state.Cluster, e *outbound.PolicyEvents, o *outbound.Dispatcher, b *lifecycle.Bundles, at *lifecycle.Attempts) *Preemption {
	return &Preemption{step: s, ids: i, resources: c, state: l, events: e, dispatch: o, bundles: b, attempts: at}
}

// Package attempts takes attempts from the launch of a bundle to their end: started,
// suspended and resumed, doubled when they straggle, committed, failed or lost.
//
// # What holds
//
// An attempt holds slots from its launch until its end was reported or its launcher was
// lost, but for while it is suspended. Of several attempts of a bundle one at most has the
// commit grant. A bundle attempt that loses a member is stopped whole.
package lifecycle

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/outbound"
	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// Attempts does that. Not safe for concurrent use.
type Attempts struct {
	step      *step.Step
	ids       *ids.IDs
	resources *resources.Resources
	policy    *policystate.Session
	state     *state.Cluster
	events    *outbound.PolicyEvents
	dispatch  *outbound.Dispatcher
	bundles   *Bundles
	jobs      *Jobs

	Speculating bool                  // its timer is set
	where       []*state.Launcher     // of the launch at hand
	targets     []*resources.Launcher // the same
}

// New returns one of the state that it is given.
func NewAttempts(s *step.Step, i *ids.IDs, c *resources.Resources, p *policystate.Session, l *state.Cluster, e *outbound.PolicyEvents, o *outbound.Dispatcher, b *Bundles, j *Jobs) *Attempts {
	return &Attempts{step: s, ids: i, resources: c, policy: p, state: l, events: e, dispatch: o, bundles: b, jobs: j}
}

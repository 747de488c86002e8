// Package sessions is how launchers come and go, and what they say: they join with an
// inventory that is held against what they should have, report, are drained, and are lost.
//
// # What holds
//
// A name belongs to the data folder of the launcher that is up under it. What does not fit
// the state changes nothing. No attempt is started twice: what a launcher was told of once
// and does not have is lost.
package membership

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/lifecycle"
	"github.com/hamadryad/hamadryad/engine/core/internal/outbound"
	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// Sessions has them. Not safe for concurrent use.
type Membership struct {
	step      *step.Step
	ids       *ids.IDs
	resources *resources.Resources
	policy    *policystate.Session
	state     *state.Cluster
	events    *outbound.PolicyEvents
	dispatch  *outbound.Dispatcher
	jobs      *lifecycle.Jobs
	attempts  *lifecycle.Attempts

	LossTold bool // that the log lost records, in this life of the manager
}

// New returns one of the state that it is given.
func New(s *step.Step, i *ids.IDs, c *resources.Resources, p *policystate.Session, l *state.Cluster, e *outbound.PolicyEvents, o *outbound.Dispatcher, j *lifecycle.Jobs, at *lifecycle.Attempts) *Membership {
	return &Membership{step: s, ids: i, resources: c, policy: p, state: l, events: e, dispatch: o, jobs: j, attempts: at}
}

// Package membership is how launchers join, report, drain and are lost. A launcher joins with an
// inventory of what it has, which is compared with what it should have.
//
// # Invariants
//
// A name belongs to the data folder of the launcher that is up under it. A report that does not
// fit the state changes nothing. No attempt is started twice: an attempt whose start reached its
// launcher, and that the launcher does not have, is lost.
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

// Membership keeps the launchers of the cluster. Not safe for concurrent use.
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

	LossNoticed bool // that the log lost records, in this life of the manager
}

// New returns the membership of a core: a state, its transitions, and what leaves.
func New(s *state.Store, out *outbound.Outbound, l *lifecycle.Lifecycle) *Membership {
	return &Membership{
		step: &s.Step, ids: &s.IDs, resources: &s.Resources, policy: &s.Policy, state: s.Cluster, events: out.Events, dispatch: out.Dispatch,
		jobs: l.Jobs, attempts: l.Attempts,
	}
}

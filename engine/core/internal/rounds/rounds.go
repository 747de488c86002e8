// Package decisions has the policy asked, round after round, and does what it decides, or
// refuses that; it has one policy take over from another, and ends one that breaks the
// contract or stalls.
//
// # What holds
//
// Each decision has one outcome. An answer to another round, or of another generation,
// changes nothing.
package rounds

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/lifecycle"

	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/outbound"
	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// Decisions does that. Not safe for concurrent use.
type Rounds struct {
	step       *step.Step
	ids        *ids.IDs
	resources  *resources.Resources
	policy     *policystate.Session
	state      *state.Cluster
	events     *outbound.PolicyEvents
	bundles    *lifecycle.Bundles
	admission  *lifecycle.Admission
	attempts   *lifecycle.Attempts
	preemption *Preemption

	StallWatched bool           // the timer of a stalling policy is set
	answer       expectedAnswer // see Expect
}

// New returns one of the state that it is given.
func NewRounds(s *step.Step, i *ids.IDs, c *resources.Resources, p *policystate.Session, l *state.Cluster, e *outbound.PolicyEvents, b *lifecycle.Bundles, ad *lifecycle.Admission, at *lifecycle.Attempts, pr *Preemption) *Rounds {
	return &Rounds{step: s, ids: i, resources: c, policy: p, state: l, events: e, bundles: b, admission: ad, attempts: at, preemption: pr}
}

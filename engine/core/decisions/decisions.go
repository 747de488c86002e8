// Package decisions has the policy asked, round after round, and does what it decides, or
// refuses that; it has one policy take over from another, and ends one that breaks the
// contract or stalls.
//
// # What holds
//
// Each decision has one outcome. An answer to another round, or of another generation,
// changes nothing.
package decisions

import (
	"github.com/hamadryad/hamadryad/engine/core/admission"
	"github.com/hamadryad/hamadryad/engine/core/attempts"
	"github.com/hamadryad/hamadryad/engine/core/bundles"
	"github.com/hamadryad/hamadryad/engine/core/events"
	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/core/preemption"
)

// Decisions does that. Not safe for concurrent use.
type Rounds struct {
	step       *step.Step
	ids        *ids.IDs
	resources  *resources.Resources
	policy     *policystate.Session
	state      *state.Cluster
	events     *events.PolicyEvents
	bundles    *bundles.Bundles
	admission  *admission.Admission
	attempts   *attempts.Attempts
	preemption *preemption.Preemption

	StallWatched bool           // the timer of a stalling policy is set
	answer       expectedAnswer // see Expect
}

// New returns one of the state that it is given.
func NewRounds(s *step.Step, i *ids.IDs, c *resources.Resources, p *policystate.Session, l *state.Cluster, e *events.PolicyEvents, b *bundles.Bundles, ad *admission.Admission, at *attempts.Attempts, pr *preemption.Preemption) *Rounds {
	return &Rounds{step: s, ids: i, resources: c, policy: p, state: l, events: e, bundles: b, admission: ad, attempts: at, preemption: pr}
}

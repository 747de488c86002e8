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
	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/events"
	"github.com/hamadryad/hamadryad/engine/core/exchange"
	"github.com/hamadryad/hamadryad/engine/core/ids"
	"github.com/hamadryad/hamadryad/engine/core/life"
	"github.com/hamadryad/hamadryad/engine/core/preemption"
	"github.com/hamadryad/hamadryad/engine/core/step"
)

// Decisions does that. Not safe for concurrent use.
type Decisions struct {
	step       *step.Step
	ids        *ids.IDs
	capacity   *capacity.Resources
	policy     *exchange.Session
	life       *life.Cluster
	events     *events.Events
	bundles    *bundles.Bundles
	admission  *admission.Admission
	attempts   *attempts.Attempts
	preemption *preemption.Preemption

	StallWatched bool           // the timer of a stalling policy is set
	answer       expectedAnswer // see Expect
}

// New returns one of the state that it is given.
func New(s *step.Step, i *ids.IDs, c *capacity.Resources, p *exchange.Session, l *life.Cluster, e *events.Events, b *bundles.Bundles, ad *admission.Admission, at *attempts.Attempts, pr *preemption.Preemption) *Decisions {
	return &Decisions{step: s, ids: i, capacity: c, policy: p, life: l, events: e, bundles: b, admission: ad, attempts: at, preemption: pr}
}

// Package rounds asks the policy, round after round, and carries out or refuses its decisions. It
// hands over from one policy to another, and ends a policy that breaks the contract or stalls. It
// preempts attempts for others: victims that the policy names, and early readers that hold the
// slots of the very work that they wait for.
//
// # Invariants
//
// Each decision has one outcome. An answer to another round, or of another generation, changes
// nothing. Slots that victims free are reserved for the beneficiary, for a bounded time. Nothing is
// preempted if the beneficiary would not fit even so.
//
// # A policy that stalls
//
// A policy can answer every round and still starve a job. For policyStallAfter (one minute) no
// attempt of the job runs, its ready work fits, and the policy gave no reason to wait. That is a problem in status. If nothing at all runs, the policy counts as broken, and the
// fallback takes over. A policy that holds work back on purpose gives its reason. A reason that
// should pass by itself, such as other jobs' turn, excuses ten times as long.
//
// # Refusals
//
// A refusal is sent to the policy in a round at once. When rounds would carry nothing but further
// refusals, the gap between them grows, up to refusedGapMax (a second). Any other event ends the
// wait.
package rounds

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/lifecycle"
	"github.com/hamadryad/hamadryad/engine/core/internal/outbound"
	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// Rounds is the exchange with the policy. Not safe for concurrent use.
type Rounds struct {
	step      *step.Step
	ids       *ids.IDs
	resources *resources.Resources
	policy    *policystate.Session
	state     *state.Cluster
	events    *outbound.PolicyEvents
	dispatch  *outbound.Dispatcher
	bundles   *lifecycle.Bundles
	admission *lifecycle.Admission
	attempts  *lifecycle.Attempts

	speculation *lifecycle.Speculation

	Preemption *Preemption
	answer     expectedAnswer // see Expect
}

// New returns the rounds of a core, on its state, transitions and outbound messages.
func New(s *state.Store, out *outbound.Outbound, l *lifecycle.Lifecycle) *Rounds {
	return &Rounds{
		step: &s.Step, ids: &s.IDs, resources: s.Resources, policy: &s.Policy, state: s.Cluster, events: out.Events, dispatch: out.Dispatch,
		bundles: l.Bundles, admission: l.Admission, attempts: l.Attempts, speculation: l.Speculation,
		Preemption: &Preemption{
			step: &s.Step, ids: &s.IDs, resources: s.Resources, state: s.Cluster, events: out.Events, dispatch: out.Dispatch,
			bundles: l.Bundles, attempts: l.Attempts,
		},
	}
}

// Package lifecycle moves jobs, bundles and attempts from their start to their end.
//
//   - Admission: a job is reserved an id, submitted, checked, admitted or refused.
//   - Jobs: bundles commit, reopen when their output is lost; the last group publishes or cleans.
//   - Bundles: a bundle is offered to the policy when its inputs open, and withdrawn when they close.
//   - Attempts: an attempt is launched, started, suspended, resumed, and ends.
//
// Each may use those listed below it, but for Jobs, which stands on Bundles alone.
//
// # Invariants
//
// Of a submission that is refused nothing exists. One that is sent again gets the same answer.
//
// A bundle commits once, by the first of its attempts whose end is accepted, unless it is
// reopened. Of several attempts at a bundle at most one has the commit grant. A bundle attempt
// that loses a member is stopped whole.
//
// A bundle of a running job that has its id and waits for no input is ready, runs or is finished.
// The policy knows each ready bundle and the launchers that it excludes.
//
// An attempt holds slots from its launch until its end was reported or its launcher was lost,
// except while it is suspended. A job that ends starts nothing but its last group, and nothing of
// it runs when it is over.
package lifecycle

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/outbound"
	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// Lifecycle is the transitions of all that lives. Not safe for concurrent use, like its parts.
type Lifecycle struct {
	Bundles   *Bundles
	Jobs      *Jobs
	Admission *Admission
	Attempts  *Attempts
}

// base is what each part works on.
type base struct {
	step      *step.Step
	ids       *ids.IDs
	resources *resources.Resources
	policy    *policystate.Session
	state     *state.Cluster
	events    *outbound.PolicyEvents
	dispatch  *outbound.Dispatcher
	status    *outbound.StatusReader
}

// New returns the transitions of a state. What follows from them leaves by out.
func New(s *state.Store, out *outbound.Outbound) *Lifecycle {
	b := base{&s.Step, &s.IDs, &s.Resources, &s.Policy, s.Cluster, out.Events, out.Dispatch, out.Status}
	l := &Lifecycle{Bundles: &Bundles{base: b}}
	l.Jobs = &Jobs{base: b, bundles: l.Bundles}
	l.Admission = &Admission{base: b, jobs: l.Jobs}
	l.Attempts = &Attempts{base: b, bundles: l.Bundles, jobs: l.Jobs}
	return l
}

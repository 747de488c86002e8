package lifecycle

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/outbound"
	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/schedules"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// Lifecycle is the transitions of jobs, bundles and attempts. Not safe for concurrent use, like its
// parts.
type Lifecycle struct {
	Bundles     *Bundles
	Jobs        *Jobs
	Admission   *Admission
	Attempts    *Attempts
	Speculation *Speculation
	Finishers   *Finishers
}

// base is the state shared by the parts.
type base struct {
	step      *step.Step
	ids       *ids.IDs
	resources *resources.Resources
	policy    *policystate.Session
	state     *state.Cluster
	schedules *schedules.Table
	events    *outbound.PolicyEvents
	dispatch  *outbound.Dispatcher
	status    *outbound.StatusReader
}

// New returns the transitions of a state. Their events and commands leave by out.
func New(s *state.Store, out *outbound.Outbound) *Lifecycle {
	b := base{&s.Step, &s.IDs, s.Resources, &s.Policy, s.Cluster, &s.Schedules, out.Events, out.Dispatch, out.Status}
	l := &Lifecycle{Bundles: &Bundles{base: b}}
	l.Jobs = &Jobs{base: b, bundles: l.Bundles}
	l.Admission = &Admission{base: b, jobs: l.Jobs}
	l.Speculation = &Speculation{base: b}
	l.Attempts = &Attempts{base: b, bundles: l.Bundles, jobs: l.Jobs, speculation: l.Speculation}
	l.Finishers = &Finishers{base: b, attempts: l.Attempts}
	return l
}

// Package jobs takes a job from its start to its end: its bundles are made known, committed,
// and wanted again when their output is gone; when all are finished the last group publishes;
// what failed or was killed is stopped and cleaned away.
//
// # What holds
//
// A bundle commits once, by the first of its attempts whose end is accepted, unless it is
// wanted again. A job that ends starts nothing but its last group. Nothing of a job runs
// when it is over.
package lifecycle

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/outbound"
	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// Jobs does that. Not safe for concurrent use.
type Jobs struct {
	step      *step.Step
	resources *resources.Resources
	policy    *policystate.Session
	state     *state.Cluster
	events    *outbound.PolicyEvents
	dispatch  *outbound.Dispatcher
	status    *outbound.StatusReader
	bundles   *Bundles
}

// ChooseKinds chooses the kinds of slots of a job that no policy knows of yet.
func (js *Jobs) ChooseKinds(j *state.Job) { js.bundles.ChooseFirst(j) }

// New returns one of the state that it is given.
func NewJobs(s *step.Step, c *resources.Resources, p *policystate.Session, l *state.Cluster, e *outbound.PolicyEvents, o *outbound.Dispatcher, r *outbound.StatusReader, b *Bundles) *Jobs {
	return &Jobs{step: s, resources: c, policy: p, state: l, events: e, dispatch: o, status: r, bundles: b}
}

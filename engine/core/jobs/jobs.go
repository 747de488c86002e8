// Package jobs takes a job from its start to its end: its bundles are made known, committed,
// and wanted again when their output is gone; when all are finished the last group publishes;
// what failed or was killed is stopped and cleaned away.
//
// # What holds
//
// A bundle commits once, by the first of its attempts whose end is accepted, unless it is
// wanted again. A job that ends starts nothing but its last group. Nothing of a job runs
// when it is over.
package jobs

import (
	"github.com/hamadryad/hamadryad/engine/core/bundles"
	"github.com/hamadryad/hamadryad/engine/core/events"
	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/core/orders"
	"github.com/hamadryad/hamadryad/engine/core/status"
)

// Jobs does that. Not safe for concurrent use.
type Jobs struct {
	step      *step.Step
	resources *resources.Resources
	policy    *policystate.Session
	state     *state.Cluster
	events    *events.PolicyEvents
	dispatch  *orders.Dispatcher
	status    *status.StatusReader
	bundles   *bundles.Bundles
}

// ChooseKinds chooses the kinds of slots of a job that no policy knows of yet.
func (js *Jobs) ChooseKinds(j *state.Job) { js.bundles.ChooseFirst(j) }

// New returns one of the state that it is given.
func NewJobs(s *step.Step, c *resources.Resources, p *policystate.Session, l *state.Cluster, e *events.PolicyEvents, o *orders.Dispatcher, r *status.StatusReader, b *bundles.Bundles) *Jobs {
	return &Jobs{step: s, resources: c, policy: p, state: l, events: e, dispatch: o, status: r, bundles: b}
}

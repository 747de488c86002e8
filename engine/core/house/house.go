// Package house joins the rooms of the core: what there is, and what happens to it.
package house

import (
	"github.com/hamadryad/hamadryad/engine/core/admission"
	"github.com/hamadryad/hamadryad/engine/core/attempts"
	"github.com/hamadryad/hamadryad/engine/core/bundles"
	"github.com/hamadryad/hamadryad/engine/core/decisions"
	"github.com/hamadryad/hamadryad/engine/core/events"
	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/core/jobs"
	"github.com/hamadryad/hamadryad/engine/core/orders"
	"github.com/hamadryad/hamadryad/engine/core/preemption"
	"github.com/hamadryad/hamadryad/engine/core/sessions"
	"github.com/hamadryad/hamadryad/engine/core/status"
)

// House is all rooms of a core. Not safe for concurrent use.
type House struct {
	// The state.
	Step     step.Step
	IDs      ids.IDs
	Capacity resources.Resources // of the launchers
	Policy   policystate.Session
	Life     *state.Cluster

	// What happens to it. Each may use those above it.
	Events     *events.Events
	Orders     *orders.Orders
	Status     *status.Reader // what is asked of it
	Bundles    *bundles.Bundles
	Jobs       *jobs.Jobs
	Admission  *admission.Admission
	Attempts   *attempts.Attempts
	Preemption *preemption.Preemption
	Sessions   *sessions.Sessions
	Decisions  *decisions.Decisions
}

// New returns a house with nobody in it.
func New(set step.Settings) *House {
	h := &House{Step: step.Step{Set: set}}
	s, i, c, p := &h.Step, &h.IDs, &h.Capacity, &h.Policy
	h.Life = state.New(s, c)
	h.Events = events.New(s, p, h.Life)
	h.Orders = orders.New(s, h.Life)
	h.Status = status.New(s, c, p, h.Life)
	h.Bundles = bundles.New(s, c, h.Life, h.Events)
	h.Jobs = jobs.New(s, c, p, h.Life, h.Events, h.Orders, h.Status, h.Bundles)
	h.Admission = admission.New(s, i, c, p, h.Life, h.Status, h.Jobs)
	h.Attempts = attempts.New(s, i, c, p, h.Life, h.Events, h.Orders, h.Bundles, h.Jobs)
	h.Preemption = preemption.New(s, i, c, h.Life, h.Events, h.Orders, h.Bundles, h.Attempts)
	h.Sessions = sessions.New(s, i, c, p, h.Life, h.Events, h.Orders, h.Jobs, h.Attempts)
	h.Decisions = decisions.New(s, i, c, p, h.Life, h.Events, h.Bundles, h.Admission, h.Attempts, h.Preemption)
	return h
}

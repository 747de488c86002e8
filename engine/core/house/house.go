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
	Step      step.Step
	IDs       ids.IDs
	Resources resources.Resources // of the launchers
	Policy    policystate.Session
	Cluster   *state.Cluster

	// What happens to it. Each may use those above it.
	Events     *events.PolicyEvents
	Dispatch   *orders.Dispatcher
	Status     *status.StatusReader // what is asked of it
	Bundles    *bundles.Bundles
	Jobs       *jobs.Jobs
	Admission  *admission.Admission
	Attempts   *attempts.Attempts
	Preemption *preemption.Preemption
	Membership *sessions.Membership
	Rounds     *decisions.Rounds
}

// New returns a house with nobody in it.
func New(set step.Settings) *House {
	h := &House{Step: step.Step{Set: set}}
	s, i, c, p := &h.Step, &h.IDs, &h.Resources, &h.Policy
	h.Cluster = state.New(s, c)
	h.Events = events.NewPolicyEvents(s, p, h.Cluster)
	h.Dispatch = orders.NewDispatcher(s, h.Cluster)
	h.Status = status.NewStatusReader(s, c, p, h.Cluster)
	h.Bundles = bundles.NewBundles(s, c, h.Cluster, h.Events)
	h.Jobs = jobs.NewJobs(s, c, p, h.Cluster, h.Events, h.Dispatch, h.Status, h.Bundles)
	h.Admission = admission.NewAdmission(s, i, c, p, h.Cluster, h.Status, h.Jobs)
	h.Attempts = attempts.NewAttempts(s, i, c, p, h.Cluster, h.Events, h.Dispatch, h.Bundles, h.Jobs)
	h.Preemption = preemption.NewPreemption(s, i, c, h.Cluster, h.Events, h.Dispatch, h.Bundles, h.Attempts)
	h.Membership = sessions.New(s, i, c, p, h.Cluster, h.Events, h.Dispatch, h.Jobs, h.Attempts)
	h.Rounds = decisions.NewRounds(s, i, c, p, h.Cluster, h.Events, h.Bundles, h.Admission, h.Attempts, h.Preemption)
	return h
}

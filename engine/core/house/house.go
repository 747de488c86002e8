// Package house joins the rooms of the core: what there is, and what happens to it.
package house

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/lifecycle"

	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/outbound"
	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/rounds"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"

	"github.com/hamadryad/hamadryad/engine/core/internal/membership"
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
	Events     *outbound.PolicyEvents
	Dispatch   *outbound.Dispatcher
	Status     *outbound.StatusReader // what is asked of it
	Bundles    *lifecycle.Bundles
	Jobs       *lifecycle.Jobs
	Admission  *lifecycle.Admission
	Attempts   *lifecycle.Attempts
	Preemption *rounds.Preemption
	Membership *membership.Membership
	Rounds     *rounds.Rounds
}

// New returns a house with nobody in it.
func New(set step.Settings) *House {
	h := &House{Step: step.Step{Set: set}}
	s, i, c, p := &h.Step, &h.IDs, &h.Resources, &h.Policy
	h.Cluster = state.New(s, c)
	h.Events = outbound.NewPolicyEvents(s, p, h.Cluster)
	h.Dispatch = outbound.NewDispatcher(s, h.Cluster)
	h.Status = outbound.NewStatusReader(s, c, p, h.Cluster)
	h.Bundles = lifecycle.NewBundles(s, c, h.Cluster, h.Events)
	h.Jobs = lifecycle.NewJobs(s, c, p, h.Cluster, h.Events, h.Dispatch, h.Status, h.Bundles)
	h.Admission = lifecycle.NewAdmission(s, i, c, p, h.Cluster, h.Status, h.Jobs)
	h.Attempts = lifecycle.NewAttempts(s, i, c, p, h.Cluster, h.Events, h.Dispatch, h.Bundles, h.Jobs)
	h.Preemption = rounds.NewPreemption(s, i, c, h.Cluster, h.Events, h.Dispatch, h.Bundles, h.Attempts)
	h.Membership = membership.New(s, i, c, p, h.Cluster, h.Events, h.Dispatch, h.Jobs, h.Attempts)
	h.Rounds = rounds.NewRounds(s, i, c, p, h.Cluster, h.Events, h.Bundles, h.Admission, h.Attempts, h.Preemption)
	return h
}

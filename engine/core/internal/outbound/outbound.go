// Package outbound has the core's outputs: events for the policy, commands for launchers, and the
// status of jobs and launchers. It decides nothing.
//
//	out := outbound.New(store)
//	out.Events.Notify(bundle, event)
//	out.Dispatch.Command(launcher, command)
//
// # Invariants
//
// An event is true when it is sent. A policy that starts learns of each launcher, job and bundle by
// the snapshot or by events, and never by both.
//
// A launcher that is not up is sent nothing. A command that a launcher has to confirm is tracked
// from the moment it is sent (state.Outstanding). A reader is given each of its sources once in a
// life of its launcher's stream.
package outbound

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
)

// Outbound is the outputs of the core. Not safe for concurrent use, like its parts.
type Outbound struct {
	Events   *PolicyEvents
	Dispatch *Dispatcher
	Status   *StatusReader
}

// New returns the outputs of a state.
func New(s *state.Store) *Outbound {
	events := &PolicyEvents{step: &s.Step, policy: &s.Policy, resources: s.Resources, state: s.Cluster}
	return &Outbound{
		Events:   events,
		Dispatch: &Dispatcher{step: &s.Step, state: s.Cluster, events: events, offers: &s.Resources.Offers},
		Status:   &StatusReader{step: &s.Step, resources: s.Resources, policy: &s.Policy, state: s.Cluster},
	}
}

// Package bundles offers bundles to the policy as their inputs open, takes them back as
// those close, and has them avoid the launchers where they failed.
//
// # What holds
//
// A bundle of a running job that is known and that waits for no input is ready, runs or is
// finished. The policy knows of each ready bundle, and of what it avoids.
package lifecycle

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/outbound"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// Bundles does that. Not safe for concurrent use.
type Bundles struct {
	step      *step.Step
	resources *resources.Resources
	state     *state.Cluster
	events    *outbound.PolicyEvents

	kinds   map[string]int // of slots: the most that a launcher has; nil: nobody asked
	kindsAt uint64         // after so many moves of launchers
}

// New returns one of the state that it is given.
func NewBundles(s *step.Step, c *resources.Resources, l *state.Cluster, e *outbound.PolicyEvents) *Bundles {
	return &Bundles{step: s, resources: c, state: l, events: e}
}

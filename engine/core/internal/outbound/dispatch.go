// Package orders tells launchers what to do: start an attempt, stop, suspend or resume it,
// read from there, forget or delete what is no longer needed.
//
// # What holds
//
// A launcher that is not up is told nothing. What has to be confirmed is watched from the
// moment that it is sent: package commands. An attempt that reads is given each of its
// sources once in a life of its launcher's stream.
package outbound

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// Orders gives them. Not safe for concurrent use.
type Dispatcher struct {
	step  *step.Step
	state *state.Cluster

	Feeds dataflow.Feed // what the step at hand gives to readers
}

// New returns one of the state that it is given.
func NewDispatcher(s *step.Step, l *state.Cluster) *Dispatcher {
	return &Dispatcher{step: s, state: l}
}

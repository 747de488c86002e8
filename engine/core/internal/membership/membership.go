// Package membership is how launchers join, report, drain and are lost. A launcher joins with an
// inventory of what it has, which is compared with what it should have.
//
// # Invariants
//
// A name belongs to the data folder of the launcher that is up under it. A report that does not
// fit the state changes nothing. No attempt is started twice: an attempt whose start reached its
// launcher, and that the launcher does not have, is lost.
//
// # A log that lost its last records
//
// A launcher that joins reports the largest term and attempt that it saw, and the jobs of which it
// holds anything. An id between the last one in the log and the first of this life can only come
// from records that the log lost. The manager reports that once, in its log and in the notes of the
// jobs that it knows. Then, as soon as a launcher joins:
//
//   - Attempts that the manager does not know are ended. Unknown jobs are dropped, with their
//     workers and files. That command is sent again until the launcher confirms it.
//   - An attempt whose start the launcher saw, and that it does not have, is lost. It is not
//     started again.
//   - A job that was over for the launcher runs nothing more there but its cleaning, and fails.
//
// A join with a term or an id that no manager can have given by now is refused, because the core
// continues above those numbers.
//
// # Names
//
// A name belongs to the data folder of the launcher that is up under it. The folder holds a random
// identity, the same in all of its incarnations, and each join carries it. So no other launcher
// takes the name, the commands or the tokens of one that only reconnects. When the launcher is
// lost, another folder may take the name. Incarnations are compared within one folder only, so no
// incarnation is used up for good.
//
// # Commands that are never confirmed
//
// After core.CommandTries sends without a confirmation, the core counts the attempt as lost, and
// its bundle avoids that launcher. The launcher keeps everything else. So a process that cannot be
// ended takes no other work with it.
package membership

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/lifecycle"
	"github.com/hamadryad/hamadryad/engine/core/internal/outbound"
	"github.com/hamadryad/hamadryad/engine/core/internal/policystate"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
)

// Membership manages the launchers of the cluster. Not safe for concurrent use.
type Membership struct {
	step      *step.Step
	ids       *ids.IDs
	resources *resources.Resources
	policy    *policystate.Session
	state     *state.Cluster
	events    *outbound.PolicyEvents
	dispatch  *outbound.Dispatcher
	jobs      *lifecycle.Jobs
	attempts  *lifecycle.Attempts
}

// New returns the membership of a core, on its state, transitions and outbound messages.
func New(s *state.Store, out *outbound.Outbound, l *lifecycle.Lifecycle) *Membership {
	return &Membership{
		step: &s.Step, ids: &s.IDs, resources: s.Resources, policy: &s.Policy, state: s.Cluster, events: out.Events, dispatch: out.Dispatch,
		jobs: l.Jobs, attempts: l.Attempts,
	}
}

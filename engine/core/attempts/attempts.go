// Package attempts takes attempts from the launch of a bundle to their end: started,
// suspended and resumed, doubled when they straggle, committed, failed or lost.
//
// # What holds
//
// An attempt holds slots from its launch until its end was reported or its launcher was
// lost, but for while it is suspended. Of several attempts of a bundle one at most has the
// commit grant. A bundle attempt that loses a member is stopped whole.
package attempts

import (
	"github.com/hamadryad/hamadryad/engine/core/bundles"
	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/events"
	"github.com/hamadryad/hamadryad/engine/core/exchange"
	"github.com/hamadryad/hamadryad/engine/core/ids"
	"github.com/hamadryad/hamadryad/engine/core/jobs"
	"github.com/hamadryad/hamadryad/engine/core/life"
	"github.com/hamadryad/hamadryad/engine/core/orders"
	"github.com/hamadryad/hamadryad/engine/core/step"
)

// Attempts does that. Not safe for concurrent use.
type Attempts struct {
	step     *step.Step
	ids      *ids.IDs
	capacity *capacity.Resources
	policy   *exchange.Session
	life     *life.Cluster
	events   *events.Events
	orders   *orders.Orders
	bundles  *bundles.Bundles
	jobs     *jobs.Jobs

	Speculating bool                 // its timer is set
	where       []*life.Launcher     // of the launch at hand
	rooms       []*capacity.Launcher // the same
}

// New returns one of the state that it is given.
func New(s *step.Step, i *ids.IDs, c *capacity.Resources, p *exchange.Session, l *life.Cluster, e *events.Events, o *orders.Orders, b *bundles.Bundles, j *jobs.Jobs) *Attempts {
	return &Attempts{step: s, ids: i, capacity: c, policy: p, life: l, events: e, orders: o, bundles: b, jobs: j}
}

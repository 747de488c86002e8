// Package sessions is how launchers come and go, and what they say: they join with an
// inventory that is held against what they should have, report, are drained, and are lost.
//
// # What holds
//
// A name belongs to the data folder of the launcher that is up under it. What does not fit
// the state changes nothing. No attempt is started twice: what a launcher was told of once
// and does not have is lost.
package sessions

import (
	"github.com/hamadryad/hamadryad/engine/core/attempts"
	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/events"
	"github.com/hamadryad/hamadryad/engine/core/exchange"
	"github.com/hamadryad/hamadryad/engine/core/ids"
	"github.com/hamadryad/hamadryad/engine/core/jobs"
	"github.com/hamadryad/hamadryad/engine/core/life"
	"github.com/hamadryad/hamadryad/engine/core/orders"
	"github.com/hamadryad/hamadryad/engine/core/step"
)

// Sessions has them. Not safe for concurrent use.
type Sessions struct {
	step     *step.Step
	ids      *ids.IDs
	capacity *capacity.Resources
	policy   *exchange.Session
	life     *life.Cluster
	events   *events.Events
	orders   *orders.Orders
	jobs     *jobs.Jobs
	attempts *attempts.Attempts

	LossTold bool // that the log lost records, in this life of the manager
}

// New returns one of the state that it is given.
func New(s *step.Step, i *ids.IDs, c *capacity.Resources, p *exchange.Session, l *life.Cluster, e *events.Events, o *orders.Orders, j *jobs.Jobs, at *attempts.Attempts) *Sessions {
	return &Sessions{step: s, ids: i, capacity: c, policy: p, life: l, events: e, orders: o, jobs: j, attempts: at}
}

package core

import (
	"github.com/hamadryad/hamadryad/engine/core/admission"
	"github.com/hamadryad/hamadryad/engine/core/attempts"
	"github.com/hamadryad/hamadryad/engine/core/bundles"
	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/decisions"
	"github.com/hamadryad/hamadryad/engine/core/events"
	"github.com/hamadryad/hamadryad/engine/core/exchange"
	"github.com/hamadryad/hamadryad/engine/core/ids"
	"github.com/hamadryad/hamadryad/engine/core/jobs"
	"github.com/hamadryad/hamadryad/engine/core/life"
	"github.com/hamadryad/hamadryad/engine/core/orders"
	"github.com/hamadryad/hamadryad/engine/core/preemption"
	"github.com/hamadryad/hamadryad/engine/core/sessions"
	"github.com/hamadryad/hamadryad/engine/core/status"
	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Version names what the core does with its inputs. A log of another version is
// restored from its checkpoints and never decided again.
const Version = 4

// Core is the state of the manager, and what is done with it. Not safe for concurrent use.
type Core struct {
	// The state.
	step     step.Step
	ids      ids.IDs
	capacity capacity.Capacity // of the launchers
	policy   exchange.Exchange
	life     *life.State

	// What happens to it. Each may use those above it.
	events     *events.Events
	orders     *orders.Orders
	bundles    *bundles.Bundles
	jobs       *jobs.Jobs
	admission  *admission.Admission
	attempts   *attempts.Attempts
	preemption *preemption.Preemption
	sessions   *sessions.Sessions
	decisions  *decisions.Decisions

	*status.Reader // what is asked of it
}

// New returns a core that knows nothing.
func New(s Settings) *Core {
	c := &Core{step: step.Step{Set: s}}
	t, p, k := &c.step, &c.policy, &c.capacity
	c.life = life.New(t, k)
	c.events = events.New(t, p, c.life)
	c.orders = orders.New(t, c.life)
	c.Reader = status.New(t, k, p, c.life)
	c.bundles = bundles.New(t, k, c.life, c.events)
	c.jobs = jobs.New(t, k, p, c.life, c.events, c.orders, c.Reader, c.bundles)
	c.admission = admission.New(t, &c.ids, k, p, c.life, c.Reader, c.jobs)
	c.attempts = attempts.New(t, &c.ids, k, p, c.life, c.events, c.orders, c.bundles, c.jobs)
	c.preemption = preemption.New(t, &c.ids, k, c.life, c.events, c.orders, c.bundles, c.attempts)
	c.sessions = sessions.New(t, &c.ids, k, p, c.life, c.events, c.orders, c.jobs, c.attempts)
	c.decisions = decisions.New(t, &c.ids, k, p, c.life, c.events, c.bundles, c.admission, c.attempts, c.preemption)
	return c
}

// Settings returns the settings in force.
func (c *Core) Settings() Settings { return c.step.Set }

// Term returns the manager's term.
func (c *Core) Term() uint64 { return c.step.Term }

// Now returns the time of the last step.
func (c *Core) Now() scheduler.Time { return c.step.Now }

// GraphsFrom says where the graphs are that submissions name by their hash. Without it
// there are none.
func (c *Core) GraphsFrom(f Graphs) { c.life.Graphs = f }

// Awaits says whether a job was announced and not submitted yet.
func (c *Core) Awaits(id scheduler.JobID) bool { return c.admission.Awaits(id) }

// Lost says why a job that is not known may have been known to an earlier life of
// the manager; nil when none can have given its id.
func (c *Core) Lost(id scheduler.JobID) *wire.Failure { return c.admission.Lost(id) }

// Expect has the next step take drafts for the submissions that it brings. It reports
// whether it takes this one: not one of other settings than those in force. The core
// becomes its owner.
func (c *Core) Expect(d *Draft) bool { return c.admission.Expect(d) }

// ExpectAnswer has the next step take the decisions of an answer that it brings as they
// were read when it came. The core becomes their owner.
func (c *Core) ExpectAnswer(of *wire.PolicyAnswer, d scheduler.Decisions) {
	c.decisions.Expect(of, d)
}

// PolicyState returns the state of the policy's rounds.
func (c *Core) PolicyState() PolicyState { return c.decisions.State() }

package core

import (
	"github.com/hamadryad/hamadryad/engine/core/internal/lifecycle"
	"github.com/hamadryad/hamadryad/engine/core/internal/membership"
	"github.com/hamadryad/hamadryad/engine/core/internal/outbound"
	"github.com/hamadryad/hamadryad/engine/core/internal/rounds"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Version is the version of the core's behaviour. A log of another version is restored from its
// checkpoints and never replayed.
const Version = 11

// Core is the manager's state machine. Not safe for concurrent use.
type Core struct {
	state      *state.Store
	outbound   *outbound.Outbound
	lifecycle  *lifecycle.Lifecycle
	rounds     *rounds.Rounds
	membership *membership.Membership

	*outbound.StatusReader // its queries
}

// New returns a core with an empty state.
func New(s Settings) *Core { return newCore(state.NewStore(s)) }

func newCore(s *state.Store) *Core {
	out := outbound.New(s)
	life := lifecycle.New(s, out)
	return &Core{s, out, life, rounds.New(s, out, life), membership.New(s, out, life), out.Status}
}

// Settings returns the settings in force.
func (c *Core) Settings() Settings { return c.state.Step.Set }

// Term returns the manager's term.
func (c *Core) Term() uint64 { return c.state.Step.Term }

// LastJob is the last reserved job number.
func (c *Core) LastJob() scheduler.JobID { return c.state.IDs.LastJob() }

// Now returns the time of the last step.
func (c *Core) Now() scheduler.Time { return c.state.Step.Now }

// TokensFrom sets the function that makes the token of a bundle attempt's data connections. It
// depends on the number alone, and on a secret that the core does not know: no token is in a
// checkpoint or in the log. Without it there are no tokens.
func (c *Core) TokensFrom(f func(run uint64) []byte) { c.state.Cluster.Tokens.From(f) }

// GraphsFrom sets the source of the graphs that submissions name by their hash. Without it there
// are none.
func (c *Core) GraphsFrom(f Graphs) { c.state.Cluster.GraphsFrom(f) }

// Authenticates reports whether submissions and requests to the policy need a proof by the policy's
// authenticator: that of the last policy that was no fallback.
func (c *Core) Authenticates() bool { return c.state.Policy.Last.Authenticates() }

// Awaits reports whether a job's id is reserved and not submitted yet.
func (c *Core) Awaits(id scheduler.JobID) bool { return c.lifecycle.Admission.AwaitsSubmission(id) }

// CheckSubmission returns why a submission under a reserved id is refused, as far as the caller,
// the submission and the settings decide it; nil: they allow it. The step that takes the submission
// decides the same again.
func (c *Core) CheckSubmission(id scheduler.JobID, spec *wire.JobSpec) *wire.Failure {
	return c.lifecycle.Admission.CheckSubmission(id, spec)
}

// Lost returns why an earlier process of the manager may have known an unknown job; nil when none
// can have given its id.
func (c *Core) Lost(id scheduler.JobID) *wire.Failure { return c.lifecycle.Admission.Lost(id) }

// Losses are the job numbers that earlier manager processes may have given and whose records the
// log lost: Lost for jobs without a reservation. The input that opens this process's term must have
// been processed.
func (c *Core) Losses() *Losses { return c.lifecycle.Admission.Losses() }

// Expect passes a draft to the next step, for a submission in its batch. It reports whether it
// accepts the draft: not one made with other settings than those in force. The core becomes its
// owner.
func (c *Core) Expect(d *Draft) bool { return c.lifecycle.Admission.Expect(d) }

// ExpectAnswer passes the parsed decisions of an answer to the next step, whose batch has the
// answer. The core becomes their owner.
func (c *Core) ExpectAnswer(of *wire.PolicyAnswer, d scheduler.Decisions) {
	c.rounds.Expect(of, d)
}

// PolicyState returns the state of the policy's rounds.
func (c *Core) PolicyState() PolicyState { return c.rounds.State() }

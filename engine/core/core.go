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

// Version names what the core does with its inputs. A log of another version is
// restored from its checkpoints and never decided again.
const Version = 8

// Core is the state of the manager, and what is done with it. Not safe for concurrent use.
type Core struct {
	state      *state.Store
	outbound   *outbound.Outbound
	lifecycle  *lifecycle.Lifecycle
	rounds     *rounds.Rounds
	membership *membership.Membership

	*outbound.StatusReader // what is asked of it
}

// New returns a core that knows nothing.
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

// LastJob is the last job's number that was given.
func (c *Core) LastJob() scheduler.JobID { return c.state.IDs.LastJob() }

// Now returns the time of the last step.
func (c *Core) Now() scheduler.Time { return c.state.Step.Now }

// TokensFrom says how the token of a bundle attempt's data connections is made. It is to be
// a function of the number alone, with a secret that the core does not know: no token
// is in a checkpoint or in the log. Without it there are none.
func (c *Core) TokensFrom(f func(run uint64) []byte) { c.state.Cluster.Tokens.From(f) }

// GraphsFrom says where the graphs are that submissions name by their hash. Without it
// there are none.
func (c *Core) GraphsFrom(f Graphs) { c.state.Cluster.GraphsFrom(f) }

// Authenticates says whether nobody submits a job, or asks the policy for something, without the word
// of the policy's authenticator: of the last policy that stood in for no other.
func (c *Core) Authenticates() bool { return c.state.Policy.Last.Authenticates() }

// Awaits says whether a job was announced and not submitted yet.
func (c *Core) Awaits(id scheduler.JobID) bool { return c.lifecycle.Admission.AwaitsSubmission(id) }

// CheckSubmission says why a submission that was announced is refused, as far as who submits it, what
// it says and the settings decide; nil: it is not, as far as they do. The step that takes the
// submission decides the same anew.
func (c *Core) CheckSubmission(id scheduler.JobID, spec *wire.JobSpec) *wire.Failure {
	return c.lifecycle.Admission.CheckSubmission(id, spec)
}

// Lost says why a job that is not known may have been known to an earlier life of
// the manager; nil when none can have given its id.
func (c *Core) Lost(id scheduler.JobID) *wire.Failure { return c.lifecycle.Admission.Lost(id) }

// Losses are the numbers of jobs that earlier lives may have given and whose records the log lost: what Lost says of
// jobs that are not announced. The opening of this life must have been taken in.
func (c *Core) Losses() *Losses { return c.lifecycle.Admission.Losses() }

// Expect has the next step take drafts for the submissions that it brings. It reports
// whether it takes this one: not one of other settings than those in force. The core
// becomes its owner.
func (c *Core) Expect(d *Draft) bool { return c.lifecycle.Admission.Expect(d) }

// ExpectAnswer has the next step take the decisions of an answer that it brings as they
// were read when it came. The core becomes their owner.
func (c *Core) ExpectAnswer(of *wire.PolicyAnswer, d scheduler.Decisions) {
	c.rounds.Expect(of, d)
}

// PolicyState returns the state of the policy's rounds.
func (c *Core) PolicyState() PolicyState { return c.rounds.State() }

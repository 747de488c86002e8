package core

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/exchange"
	"github.com/hamadryad/hamadryad/engine/core/ids"
	"github.com/hamadryad/hamadryad/engine/core/inputs"
	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/idmap"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Version names what the core does with its inputs. A log of another version is
// restored from its checkpoints and never decided again.
const Version = 4

// Core is the state of the manager. Not safe for concurrent use.
type Core struct {
	step step.Step
	ids  ids.IDs

	lossTold bool // that the log lost records, in this life

	jobs     idmap.Index[scheduler.JobID, job] // live, admitted or asked
	busy     []scheduler.JobID                 // of them, those that a later step has to go on with, ascending
	prepared []prepared                        // in order of id
	ended    []*endedJob                       // in order of their end, the oldest first
	bundles  idmap.Map[scheduler.BundleID, bundle]
	attempts idmap.Map[scheduler.AttemptID, attempt] // live

	launchers idmap.Index[scheduler.LauncherID, launcher] // up and lost
	byName    map[string]*launcher
	aliases   map[string]string // hosts by their further names; nil: made when it is next used
	capacity  capacity.Capacity // of the launchers

	suspended  idmap.Index[uint64, run] // runs that wait to be resumed, by run.suspension: the first suspended first
	suspension uint64                   // the last number given

	policy exchange.Exchange

	speculating  bool // its timer is set
	stallWatched bool // so is that of a stalling policy

	// What a step gathers. Empty between steps.
	changed []*job
	feeds   inputs.Feed          // what it gives to readers
	where   []*launcher          // of the launch at hand
	rooms   []*capacity.Launcher // the same

	graphs Graphs                   // see GraphsFrom; nil: none are kept
	drafts map[*wire.JobSpec]*Draft // see Expect; nil: none are there
	answer expectedAnswer           // see ExpectAnswer
}

// New returns a core that knows nothing.
func New(s Settings) *Core {
	return &Core{step: step.Step{Set: s}, byName: map[string]*launcher{}}
}

// Settings returns the settings in force.
func (c *Core) Settings() Settings { return c.step.Set }

// Term returns the manager's term.
func (c *Core) Term() uint64 { return c.step.Term }

// Now returns the time of the last step.
func (c *Core) Now() scheduler.Time { return c.step.Now }

// touch has the shell told, at the step's end, that a job changed.
func (c *Core) touch(j *job) {
	if !j.touched {
		j.touched = true
		c.changed = append(c.changed, j)
	}
}

// emit tells an event about a bundle to the policy, and to one that is being started
// unless its snapshot will show it.
func (c *Core) emit(b *bundle, e scheduler.Event) { c.policy.TellBundle(b.job.id, b.index, e) }

// noteJob keeps a line for the job's status.
func (c *Core) noteJob(j *job, text string) {
	text = c.step.Short(text)
	if len(j.notes) >= c.step.Set.NotesKept {
		n := len(j.notes) - c.step.Set.NotesKept + 1
		j.notes = slices.Delete(j.notes, 0, n)
		j.notesDropped += n
	}
	j.notes = append(j.notes, text)
	c.touch(j)
}

// Graphs returns the graph of a blob's hash. Equal hashes give equal graphs, which makes
// it no input; the core keeps what it is given and may change it.
type Graphs func(hash string) (*wire.Graph, error)

// GraphsFrom says where the graphs are that submissions name by their hash. Without it
// there are none.
func (c *Core) GraphsFrom(f Graphs) { c.graphs = f }

// Draft is what a submission and the settings alone decide of a job: whether it is let
// in, its groups and bundles, and what those wait for. It takes seconds for a million
// tasks, so it can be made beside the core, by any goroutine, and given to Expect. A
// core that was given none makes the same one in its step, as one that replays a log
// does.
type Draft struct {
	of  *wire.JobSpec
	set Settings // that it was made with
	job *job     // without ids and times; nil when err is not
	err error
}

// expectedAnswer is what was read in an answer already.
type expectedAnswer struct {
	of        *wire.PolicyAnswer
	decisions scheduler.Decisions
}

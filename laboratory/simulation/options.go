package simulation

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Defaults of Options.
const (
	// DefaultTick is the period in which the manager receives events.
	DefaultTick = 100 * time.Millisecond
	// DefaultThink is the time to a policy's answer.
	DefaultThink = 2 * time.Millisecond
	// DefaultStall is how long jobs may wait while nothing runs.
	DefaultStall = 24 * time.Hour
	// DefaultStatusEvery is the time between two questions for the policy's status.
	DefaultStatusEvery = 10 * time.Second
)

// GangMax is the most tasks that a workload may join into one group, or groups into one bundle.
// Beyond it the job cannot be submitted, and the run ends with an error.
const GangMax = 100_000

// Options describe a run. Workload, Cluster and Host are required.
type Options struct {
	Workload *workload.Workload
	// Submissions are further data of the workload's jobs, in their order, such as from a
	// recording; nil: none.
	Submissions []Submission
	// Changes are what else happens, in order of time; nil: nothing does. Play closes the policies
	// that switches launch.
	Changes []Change
	// Cluster must have passed its Check.
	Cluster *cluster.Cluster
	// Host is the policy. Play closes it.
	Host policy.Host
	// Config is the policy's.
	Config scheduler.Config
	// Settings change the core's settings; may be nil. Some follow from the workload and the
	// cluster: Simulated, Speculation, Seed, Heartbeat, and bounds that must hold both.
	Settings func(*core.Settings)

	// Tick is the period in which the manager receives events, default DefaultTick. Think is the
	// time to each answer of the policy, default DefaultThink. Negative means none.
	Tick, Think time.Duration
	// ThinkAt is the time to the policy's answer in a round at a time of the workload, where it is
	// known; nil: Think.
	ThinkAt func(at time.Duration) time.Duration
	// Stall ends a run in which jobs wait, nothing runs, and nothing began or ended for so long;
	// default DefaultStall.
	Stall time.Duration
	// Watch receives the run's events; may be nil.
	Watch Watcher
	// Attempts receives each attempt at the workload's tasks when the manager knows of its end, in
	// order; may be nil. The attempt is the callee's.
	Attempts func(*Attempt)
	// Status receives what the policy in force tells of itself, from the beginning on at least
	// StatusEvery apart; may be nil. The policy is asked between two steps, and no time passes. An
	// answer that can't be shown is an error in place of a status.
	Status func(at time.Duration, s scheduler.Status, err error)
	// StatusEvery is the time between two calls; nil: DefaultStatusEvery. It is asked anew after
	// each, so that it may grow.
	StatusEvery func() time.Duration
	// Record receives each batch before the core takes it, with the core's state then; may be nil.
	// Name is the policy's name in the record.
	Record func(c *core.Core, b *wire.Batch) error
	Name   string
}

// Submission is what is known of a job beyond a workload's model.
type Submission struct {
	// Spec is the submission, with its graph: its stages have as many nodes as the workload's have
	// tasks. A group's work is that of its first node's task.
	Spec *wire.JobSpec
	// Starts are the times from a task's launch until its program runs, in addition to the
	// cluster's model, by stage and task.
	Starts [][]time.Duration
	// Fails are the times after which attempts at a task fail, of the first attempts, by stage and
	// task. A time is that of work. nil: none fails.
	Fails [][][]time.Duration
	// Finish is the time of the job's last group, which publishes its output.
	Finish time.Duration
}

// Watcher receives a run's events, in order. Jobs are indexes in the workload.
type Watcher interface {
	// Came reports a job's submission.
	Came(at time.Duration, job int)
	// Holds reports that an attempt holds its slots from now on, or no longer.
	Holds(at time.Duration, job int, a *simcluster.Attempt, holds bool)
	// Ended reports a job's end.
	Ended(at time.Duration, job int)
}

func (o *Options) setDefaults() error {
	switch {
	case o.Workload == nil || len(o.Workload.Jobs) == 0:
		return fmt.Errorf("there is no job to play")
	case o.Cluster == nil:
		return fmt.Errorf("there is no launcher to play on")
	case o.Submissions != nil && len(o.Submissions) != len(o.Workload.Jobs):
		return fmt.Errorf("there are %d jobs, and submissions of %d", len(o.Workload.Jobs), len(o.Submissions))
	}
	o.Tick, o.Think = orDefault(o.Tick, DefaultTick), orDefault(o.Think, DefaultThink)
	o.Stall = orDefault(o.Stall, DefaultStall)
	return nil
}

// orDefault is d, or a default for 0; a negative one is 0.
func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return max(d, 0)
}

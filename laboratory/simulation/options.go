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
	// DefaultTick is the period in which what happens is told to the manager.
	DefaultTick = 100 * time.Millisecond
	// DefaultThink is how long a policy's answer takes.
	DefaultThink = 2 * time.Millisecond
	// DefaultStall is how long nothing may run while jobs wait.
	DefaultStall = 24 * time.Hour
)

// Options say what is played. Workload, Cluster and Host are needed.
type Options struct {
	Workload *workload.Workload
	// Submissions are of the workload's jobs, in their order, where more is known of them than
	// the workload says; nil: nothing is.
	Submissions []Submission
	// Cluster has passed its Check.
	Cluster *cluster.Cluster
	// Host is the policy. Play ends it.
	Host policy.Host
	// Config is the policy's.
	Config scheduler.Config
	// Settings change the core's; may be nil. Some follow from the workload and the cluster:
	// Simulated, Speculation, Seed, Heartbeat, and bounds that must hold both.
	Settings func(*core.Settings)

	// Tick is the period in which what happens is told to the manager, default DefaultTick;
	// Think is how long each of the policy's answers takes, default DefaultThink; negative
	// is none of it.
	Tick, Think time.Duration
	// ThinkAt is how long the answer takes to a round at a time of the workload, where that is
	// known; nil: as Think says.
	ThinkAt func(at time.Duration) time.Duration
	// Stall ends a run in which jobs wait, nothing runs, and nothing began or ended for so
	// long; default DefaultStall.
	Stall time.Duration
	// Watch is told what happens; may be nil.
	Watch Watcher
	// Record is told of each batch before the core takes it, and of the core as it is then; may
	// be nil. Name is the policy's for it.
	Record func(c *core.Core, b *wire.Batch) error
	Name   string
}

// Submission is what is known of a job beyond a workload's model.
type Submission struct {
	// Spec is what is submitted, with its graph: its stages have as many nodes as the
	// workload's have tasks. The work of a group is that of its first node's task.
	Spec *wire.JobSpec
	// Starts is from the launch of a task until its program runs, beside what the cluster's
	// model says, by stage and task.
	Starts [][]time.Duration
	// Finish is how long the job's last group takes, which publishes its output.
	Finish time.Duration
}

// Watcher is told what happens while a workload is played, in order. Jobs have their place in the workload.
type Watcher interface {
	// Came tells that a job was submitted.
	Came(at time.Duration, job int)
	// Holds tells that an attempt holds its slots from now on, or does not any more.
	Holds(at time.Duration, job int, a *simcluster.Attempt, holds bool)
	// Ended tells of a job's end.
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

// orDefault is d, or a default for 0; what is negative is 0.
func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return max(d, 0)
}

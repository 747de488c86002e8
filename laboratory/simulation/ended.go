package simulation

import (
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Never is a time of an Attempt that was not reached, or is unknown.
const Never time.Duration = -1

// Attempt is an ended attempt at a group of a job's tasks. Times count from the beginning of the
// workload. They are the manager's: a message from a launcher takes the model's latency.
type Attempt struct {
	// Job is the index of its job in the workload, and Number the job's id in the manager. Stage
	// and Task are indexes in the job, of the group's first task; Tasks counts the group's.
	Job                int
	Number             scheduler.JobID
	Stage, Task, Tasks int
	// Bundle is the group's bundle, in which Group is its place. Run is the same number for all
	// attempts that the bundle started together.
	Bundle scheduler.BundleID
	Group  int
	Run    uint64

	ID          scheduler.AttemptID
	Launcher    string
	Speculative bool
	// Kind, Slots, Memory and Resources are what it held. Memory is in bytes.
	Kind      scheduler.SlotKind
	Slots     int
	Memory    int64
	Resources scheduler.Resources

	// Ready is when its bundle had become ready; Never for a second attempt. Launched is when it
	// was given to its launcher, Started when its program ran, and Executing when its input was
	// there; the last two may be Never. Suspended is for how long it was suspended.
	Ready, Launched, Started, Executing, Ended, Suspended time.Duration

	Outcome scheduler.AttemptOutcome
	Reason  string // why it was stopped or failed; "" when it finished
	// For is the index of the job that it was preempted for; -1: none, or one that has ended.
	For int
	// Near is the worst locality of its stored input. HasInput is false where it has none, or never
	// began on its launcher.
	Near     scheduler.Locality
	HasInput bool
	// Read are the bytes of stored input by locality level; a finished attempt alone has them.
	// Shuffled and Written are the bytes that its tasks fetch and write by the workload.
	Read              [scheduler.LocalityLevels]int64
	Shuffled, Written int64
}

// nearness is the locality of an attempt's stored input.
type nearness struct {
	level scheduler.Locality
	known bool
}

// attemptsEnded tells the client of the attempts that ended in a step of the core. The job of such an
// attempt is still known here, since changes are the first action of a step.
func (p *player) attemptsEnded(c *core.Changes) {
	for i := range c.Attempts {
		row := &c.Attempts[i]
		r := p.jobs[uint64(row.Job)]
		if row.State != changes.Ended || r == nil || int(row.Stage) >= len(r.Graph.Graph.Stages) { // the last group publishes
			continue
		}
		a := p.attemptOf(r, row)
		p.options.Attempts(&a)
	}
}

// attemptOf is an ended attempt by its last row.
func (p *player) attemptOf(r *running, row *changes.Attempt) Attempt {
	j := &p.options.Workload.Jobs[r.place]
	number := r.Graph.GroupOf(r.Graph.Number(graph.Node{Stage: int(row.Stage), Index: int(row.Index)}))
	g := &r.Graph.Groups[number]
	place, _ := slices.BinarySearch(r.Graph.Bundles[g.Bundle].Groups, int32(number)) //nolint:gosec // numbers of groups are int32
	a := Attempt{
		Job: r.place, Number: row.Job, Stage: int(row.Stage), Task: int(row.Index), Tasks: len(g.Nodes), Bundle: row.Bundle, Group: place, Run: row.Run,
		ID: row.ID, Launcher: row.On, Speculative: row.Speculative, Kind: g.Kind, Slots: g.Slots, Memory: g.Memory, Resources: g.Resources,
		Ready: p.at(row.Ready), Launched: p.at(row.Launched), Started: p.at(row.Started), Executing: p.at(row.Executing), Ended: p.at(row.Since), Suspended: row.Suspended,
		Outcome: row.Outcome, Reason: row.Reason, For: -1, Read: row.Work.Read,
	}
	if by := p.jobs[uint64(row.For)]; by != nil {
		a.For = by.place
	}
	if n, ok := r.near[uint64(row.ID)]; ok {
		a.Near, a.HasInput = n.level, n.known
		delete(r.near, uint64(row.ID))
	}
	for _, n := range g.Nodes {
		node := r.Graph.Node(n)
		t := &j.Stages[node.Stage].Tasks[node.Index]
		a.Shuffled += t.Shuffle
		a.Written += t.Output
	}
	return a
}

// at is a time of the workload; Never for one that is not set.
func (p *player) at(t scheduler.Time) time.Duration {
	if t == 0 {
		return Never
	}
	return p.since(t)
}

package core

import (
	"fmt"
	"iter"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/inputs"
	"github.com/hamadryad/hamadryad/engine/core/tally"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/sorted"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Where a bundle stands.
const (
	bundleWaiting  = tally.Waiting
	bundleReady    = tally.Ready
	bundleRunning  = tally.Running
	bundleFinished = tally.Finished
)

// bundle is one bundle of a job.
type bundle struct {
	id         scheduler.BundleID
	job        *job
	index      int
	phase      tally.Phase
	wired      bool        // groups of it are joined by tcp
	single     bool        // it is one group of one node
	stage      int32       // of its first group
	first      int32       // index of that group's first node in the stage
	gate       inputs.Gate // late once it was taken back
	since      scheduler.Time
	next, prev int32 // in the job's ready list
	runs       []*run
	oneRun     [1]*run   // room for the usual number of them
	kept       []*commit // by group: the last that committed; nil before
	failures   int
	losses     int
	avoid      []scheduler.LauncherID // where it failed, the latest last
	twice      scheduler.Time         // since when it is wanted twice; 0: it is not
	preempted  bool
	protected  scheduler.Time // until then
}

// commit is the accepted end of a group's attempt.
type commit struct {
	attempt  scheduler.AttemptID
	run      uint64
	token    []byte
	launcher scheduler.LauncherID
	host     string
	rack     string
	stored   bool // keeps files in its launcher's store
	lost     bool // and they are gone
	spec     bool
	launched scheduler.Time
	started  scheduler.Time
	phased   scheduler.Time // when it began to execute; 0 when that was not told
	ended    scheduler.Time
	work     scheduler.Work
	report   *wire.AttemptEnded // work, files and counters
}

// ID is capacity.Bundle's.
func (b *bundle) ID() scheduler.BundleID { return b.id }

// JobID is capacity.Bundle's.
func (b *bundle) JobID() scheduler.JobID { return b.job.id }

// Width is how many groups the bundle has.
func (b *bundle) Width() int {
	if b.single || b.last() {
		return 1
	}
	return len(b.groups())
}

// Demand returns what the i-th group takes.
func (b *bundle) Demand(i int) capacity.Demand {
	switch {
	case b.single:
		return b.job.stages[b.stage].single
	case b.last():
		return capacity.Demand{Kind: b.job.lastKind(), Slots: 1, Memory: lastMemory + b.job.lastMore}
	}
	g := &b.job.plan.Groups[b.groups()[i]]
	return capacity.Demand{Kind: g.Kind, Slots: g.Slots, Memory: g.Memory}
}

// stageOf returns the stage that the i-th group counts for.
func (b *bundle) stageOf(i int) int {
	switch {
	case b.single:
		return int(b.stage)
	case b.last():
		return len(b.job.plan.Graph.Stages)
	}
	return b.job.plan.Groups[b.groups()[i]].Stage
}

// last says whether it is the bundle that publishes or cleans.
func (b *bundle) last() bool { return !b.single && b.index == len(b.job.plan.Bundles) }

// groups returns the numbers of a bundle's groups in the plan; nil for the last
// bundle of a job with outputs.
func (b *bundle) groups() []int32 {
	if b.last() {
		return nil
	}
	return b.job.plan.Bundles[b.index].Groups
}

// nodes returns the numbers of the nodes of a bundle's i-th group.
func (b *bundle) nodes(i int) []int32 {
	if b.last() {
		return nil
	}
	return b.job.plan.Groups[b.groups()[i]].Nodes
}

// allNodes yields the numbers of the nodes of all groups.
func (b *bundle) allNodes() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for i := range b.groups() {
			for _, x := range b.nodes(i) {
				if !yield(x) {
					return
				}
			}
		}
	}
}

// filed are the nodes of a bundle's i-th group, in a job that has file channels.
func (b *bundle) filed(i int) []int32 {
	if !b.job.inputs.Some() {
		return nil
	}
	return b.nodes(i)
}

// setTwice has a bundle wanted twice since a time, or, at 0, not any more.
func (b *bundle) setTwice(since scheduler.Time) {
	if b.twice != 0 {
		b.job.doubled--
	}
	if b.twice = since; since != 0 {
		b.job.doubled++
	}
}

func (b *bundle) hasRun(r *run) bool {
	for _, x := range b.runs {
		if x == r {
			return true
		}
	}
	return false
}

func (b *bundle) dropRun(r *run) {
	i := slices.Index(b.runs, r)
	if i < 0 {
		return
	}
	rest := append(b.runs[:i:i], b.runs[i+1:]...) // who walks the runs walks the old ones
	if b.oneRun[0] == r {
		b.oneRun[0] = nil // nothing is to hold what ended
	}
	if len(rest) == 0 {
		rest = b.oneRun[:0]
	}
	b.runs = rest
}

// describe names a group for people: its first node.
func (j *job) describe(b *bundle, i int) string {
	if b.last() {
		return "the group that publishes"
	}
	n := j.plan.Node(b.nodes(i)[0])
	return fmt.Sprintf("stage %q node %d", j.stages[n.Stage].Name(), n.Index)
}

// unavailable says why a bundle may not run on a launcher; "" when it may.
func (b *bundle) unavailable(l *capacity.Launcher) string {
	switch {
	case !l.Up:
		return "is lost"
	case l.Draining:
		return "is draining"
	case l.Blamed:
		return "failed for several jobs and is avoided for a while"
	case sorted.Has(b.job.avoid, l.ID):
		return fmt.Sprintf("failed too often for %s", b.job.id)
	case slices.Contains(b.avoid, l.ID):
		return fmt.Sprintf("failed for bundle %d", b.id)
	}
	for _, r := range b.runs {
		for _, a := range r.attempts {
			if &a.launcher.Launcher == l {
				return "runs the attempt that this one is to overtake"
			}
		}
	}
	return ""
}

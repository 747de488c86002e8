package state

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/stats"
)

// Enter moves a bundle to a phase. It updates the job's ready list and the stages' counts of
// nodes by phase.
func (b *Bundle) Enter(p stats.Phase) {
	old := b.phase
	b.phase = p
	if old == BundleRunning && p != BundleRunning {
		for _, r := range b.attempts {
			for _, a := range r.Attempts {
				a.uncountSuspended()
			}
		}
	}
	b.count(old, p)
	b.Job.markElementDirty(b)
	if old == BundleReady {
		b.Job.Ready.remove(b)
	}
	if p == BundleReady {
		b.Job.Ready.add(b)
	}
}

// count moves the bundle's nodes between phases in the counts of their stages.
func (b *Bundle) count(old, p stats.Phase) {
	move := func(stage int) {
		b.Job.Stages[stage].Move(old, p)
		b.Job.markStageDirty(stage)
	}
	switch {
	case b.singleNode:
		move(int(b.Stage))
	case b.Last():
		move(len(b.Job.Stages) - 1)
	default:
		for i := range b.Groups() {
			for _, x := range b.Nodes(i) {
				move(b.Job.Plan.Node(x).Stage)
			}
		}
	}
}

// countDone counts a bundle's groups and nodes as finished (+1), or as unfinished again (-1).
func (j *Job) countDone(b *Bundle, by int) {
	if b.singleNode { // fast path for the most frequent case: the plan is not in the cache
		s := &j.Stages[b.Stage]
		s.FinishGroups(by)
		s.FinishNodes(by)
		j.Stats.Finished(by)
		return
	}
	for i := range b.Groups() {
		j.Stages[b.StageOf(i)].FinishGroups(by)
		j.Stats.Finished(by)
		for _, x := range b.Nodes(i) {
			j.Stages[j.Plan.Node(x).Stage].FinishNodes(by)
		}
	}
}

// recount rebuilds the counts of a job that was read back. Its attempts are not yet live.
func (j *Job) recount() {
	for i := range j.Bundles {
		b := &j.Bundles[i]
		if b.phase == BundleUnused {
			continue
		}
		if j.startsUnused(b) {
			j.unused--
			j.Stages[b.Stage].Regrow(1)
		}
		b.count(BundleWaiting, b.phase)
		if b.SpeculationOffered() != 0 {
			j.speculativeCount++
		}
		if b.Last() {
			continue
		}
		for _, k := range b.lastCommits {
			j.Stats.Accept(k.Report, +1)
		}
	}
}

// addSuspended adds to the stage's count of suspended nodes for a bundle's i-th group.
func (b *Bundle) addSuspended(i int, by uint32) {
	j := b.Job
	add := func(stage int) {
		j.Stages[stage].suspended += by
		j.markStageDirty(stage)
	}
	if b.Last() {
		add(len(j.Stages) - 1)
	}
	for _, x := range b.Nodes(i) {
		add(j.Plan.Node(x).Stage)
	}
}

// checkSuspended compares the counts of suspended nodes with a count of the suspended attempts.
func (j *Job) checkSuspended() error {
	rest := make([]uint32, len(j.Stages))
	for _, a := range j.attempts { // sums: in any order
		b := a.BundleAttempt.Bundle
		if !a.countedSuspended {
			continue
		}
		if a.Phase() != phase.Suspended || b.Phase() != BundleRunning {
			return fmt.Errorf("the nodes of %v count as suspended, and it is in phase %d, its bundle %v", a.ID, a.Phase(), b.Phase())
		}
		if b.Last() {
			rest[len(rest)-1]++
		}
		for _, x := range b.Nodes(a.Group) {
			rest[j.Plan.Node(x).Stage]++
		}
	}
	for i := range rest {
		if s := &j.Stages[i]; s.suspended != rest[i] {
			return fmt.Errorf("%d nodes of stage %q count as suspended, counted as %d", s.suspended, s.Name(), rest[i])
		}
	}
	return nil
}

// checkCounts compares the job's counts with a full recount.
func (j *Job) checkCounts() error {
	doubled, resting := 0, 0
	for _, a := range j.attempts {
		if a.BundleAttempt.speculative {
			doubled++
		}
		if a.Phase() == phase.Suspended {
			resting++
		}
	}
	var sums stats.Job
	fresh := make([]stats.Stage, len(j.Stages))
	for i := range fresh {
		fresh[i] = j.Stages[i].Fresh()
	}
	for i := range j.Bundles {
		b := &j.Bundles[i]
		if b.SpeculationOffered() != 0 {
			doubled++
		}
		if b.Last() {
			fresh[len(fresh)-1].Count(b.Phase())
			continue
		}
		if b.Phase() == BundleUnused {
			continue
		}
		for _, k := range b.lastCommits {
			sums.Accept(k.Report, +1)
		}
		for g := range b.Groups() {
			if b.Phase() == BundleFinished {
				fresh[b.StageOf(g)].FinishGroups(1)
			}
			for _, x := range b.Nodes(g) {
				fresh[j.Plan.Node(x).Stage].Count(b.Phase())
			}
		}
	}
	if err := j.checkSuspended(); err != nil {
		return err
	}
	for i := range fresh {
		if err := j.Stages[i].Check(&fresh[i]); err != nil {
			return err
		}
	}
	switch {
	case !j.Stats.SameSums(&sums):
		return fmt.Errorf("files and counters are %d and %v, counted as %d and %v", sums.Files(), sums.Counters(), j.Stats.Files(), j.Stats.Counters())
	case doubled != j.speculativeCount:
		return fmt.Errorf("%d attempts are speculative or wanted so, counted as %d", doubled, j.speculativeCount)
	case resting != j.suspended:
		return fmt.Errorf("%d attempts are suspended, counted as %d", resting, j.suspended)
	}
	return nil
}

package life

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/course"
	"github.com/hamadryad/hamadryad/engine/core/tally"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Enter moves a bundle to a phase: what is ready is in its job's list of that, and each
// stage counts its nodes by phase.
func (b *Bundle) Enter(p tally.Phase) {
	old := b.phase
	b.phase = p
	b.count(old, p)
	if old == BundleReady {
		b.Job.unlinkReady(b)
	}
	if p == BundleReady {
		b.Job.linkReady(b)
	}
}

// count moves its nodes in the counts of their stages.
func (b *Bundle) count(old, p tally.Phase) {
	switch {
	case b.Single:
		b.Job.Stages[b.Stage].Move(old, p)
	case b.Last():
		b.Job.Stages[len(b.Job.Stages)-1].Move(old, p)
	default:
		for i := range b.Groups() {
			for _, x := range b.Nodes(i) {
				b.Job.Stages[b.Job.Plan.Node(x).Stage].Move(old, p)
			}
		}
	}
}

// CountDone counts a bundle's groups and nodes as finished, or not any more.
func (j *Job) CountDone(b *Bundle, by int) {
	if b.Single { // without a look at the plan: it is far away, and this is each end
		s := &j.Stages[b.Stage]
		s.FinishGroups(by)
		s.FinishNodes(by)
		j.Tally.Finished(by)
		return
	}
	for i := range b.Groups() {
		j.Stages[b.StageOf(i)].FinishGroups(by)
		j.Tally.Finished(by)
		for _, x := range b.Nodes(i) {
			j.Stages[j.Plan.Node(x).Stage].FinishNodes(by)
		}
	}
}

// recount counts all of a job that was read back. Its attempts do not live yet.
func (j *Job) recount() {
	for i := range j.Bundles {
		b := &j.Bundles[i]
		b.count(BundleWaiting, b.phase)
		if b.Twice() != 0 {
			j.Doubled++
		}
		if b.Last() {
			continue
		}
		for _, k := range b.Kept {
			j.Tally.Accept(k.Report, +1)
		}
	}
}

// StageStatus is what status shows of its stages.
func (j *Job) StageStatus() []*wire.StageStatus {
	list := make([]*wire.StageStatus, len(j.Stages))
	for i := range j.Stages {
		list[i] = j.Stages[i].Status()
	}
	if j.resting > 0 {
		j.markSuspended(list)
	}
	return list
}

// markSuspended takes the nodes that are suspended from those that run.
func (j *Job) markSuspended(list []*wire.StageStatus) {
	for _, a := range j.Attempts { // sums: in any order
		b := a.Run.Bundle
		if a.Phase() != course.Suspended || b.Phase() != BundleRunning || b.Runs()[0] != a.Run {
			continue
		}
		stages := []int{len(list) - 1}
		if !b.Last() {
			stages = stages[:0]
			for _, x := range b.Nodes(a.Group) {
				stages = append(stages, j.Plan.Node(x).Stage)
			}
		}
		for _, s := range stages {
			list[s].Running--
			list[s].Suspended++
		}
	}
}

// checkCounts holds what is counted against a count of everything.
func (j *Job) checkCounts() error {
	doubled, resting := 0, 0
	for _, a := range j.Attempts {
		if a.Run.Speculative {
			doubled++
		}
		if a.Phase() == course.Suspended {
			resting++
		}
	}
	var sums tally.Job
	fresh := make([]tally.Stage, len(j.Stages))
	for i := range fresh {
		fresh[i] = j.Stages[i].Fresh()
	}
	for i := range j.Bundles {
		b := &j.Bundles[i]
		if b.Twice() != 0 {
			doubled++
		}
		if b.Last() {
			fresh[len(fresh)-1].Count(b.Phase())
			continue
		}
		for _, k := range b.Kept {
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
	for i := range fresh {
		if err := j.Stages[i].Check(&fresh[i]); err != nil {
			return err
		}
	}
	switch {
	case !j.Tally.SameSums(&sums):
		return fmt.Errorf("files and counters are %d and %v, counted as %d and %v", sums.Files(), sums.Counters(), j.Tally.Files(), j.Tally.Counters())
	case doubled != j.Doubled:
		return fmt.Errorf("%d attempts are speculative or wanted so, counted as %d", doubled, j.Doubled)
	case resting != j.resting:
		return fmt.Errorf("%d attempts are suspended, counted as %d", resting, j.resting)
	}
	return nil
}

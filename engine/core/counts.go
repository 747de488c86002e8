package core

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/tally"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// enter moves a bundle to a phase.
func (b *bundle) enter(p tally.Phase) {
	old := b.phase
	b.phase = p
	switch {
	case b.single:
		b.job.stages[b.stage].Move(old, p)
	case b.last():
		b.job.stages[len(b.job.stages)-1].Move(old, p)
	default:
		for i := range b.groups() {
			for _, x := range b.nodes(i) {
				b.job.stages[b.job.plan.Node(x).Stage].Move(old, p)
			}
		}
	}
}

// countDone counts a bundle's groups and nodes as finished, or not any more.
func (j *job) countDone(b *bundle, by int) {
	if b.single { // without a look at the plan: it is far away, and this is each end
		s := &j.stages[b.stage]
		s.FinishGroups(by)
		s.FinishNodes(by)
		j.tally.Finished(by)
		return
	}
	for i := range b.groups() {
		j.stages[b.stageOf(i)].FinishGroups(by)
		j.tally.Finished(by)
		for _, x := range b.nodes(i) {
			j.stages[j.plan.Node(x).Stage].FinishNodes(by)
		}
	}
}

// recount counts all of a job that was read back. Its attempts do not live yet.
func (j *job) recount() {
	for i := range j.bundles {
		b := &j.bundles[i]
		p := b.phase
		b.phase = bundleWaiting
		b.enter(p)
		if b.twice != 0 {
			j.doubled++
		}
		if b.last() {
			continue
		}
		for _, k := range b.kept {
			j.tally.Accept(k.report, +1)
		}
	}
}

func (j *job) stageStatus() []*wire.StageStatus {
	list := make([]*wire.StageStatus, len(j.stages))
	for i := range j.stages {
		list[i] = j.stages[i].Status()
	}
	if j.resting > 0 {
		j.markSuspended(list)
	}
	return list
}

// markSuspended takes the nodes that are suspended from those that run.
func (j *job) markSuspended(list []*wire.StageStatus) {
	for _, a := range j.attempts { // sums: in any order
		b := a.run.bundle
		if a.phase != attemptSuspended || b.phase != bundleRunning || b.runs[0] != a.run {
			continue
		}
		stages := []int{len(list) - 1}
		if !b.last() {
			stages = stages[:0]
			for _, x := range b.nodes(a.group) {
				stages = append(stages, j.plan.Node(x).Stage)
			}
		}
		for _, s := range stages {
			list[s].Running--
			list[s].Suspended++
		}
	}
}

// checkCounts holds what is counted against a count of everything.
func (j *job) checkCounts() error {
	doubled, resting := 0, 0
	for _, a := range j.attempts {
		if a.run.speculative {
			doubled++
		}
		if a.phase == attemptSuspended {
			resting++
		}
	}
	var sums tally.Job
	fresh := make([]tally.Stage, len(j.stages))
	for i := range fresh {
		fresh[i] = j.stages[i].Fresh()
	}
	for i := range j.bundles {
		b := &j.bundles[i]
		if b.twice != 0 {
			doubled++
		}
		if b.last() {
			fresh[len(fresh)-1].Count(b.phase)
			continue
		}
		for _, k := range b.kept {
			sums.Accept(k.report, +1)
		}
		for g := range b.groups() {
			if b.phase == bundleFinished {
				fresh[b.stageOf(g)].FinishGroups(1)
			}
			for _, x := range b.nodes(g) {
				fresh[j.plan.Node(x).Stage].Count(b.phase)
			}
		}
	}
	for i := range fresh {
		if err := j.stages[i].Check(&fresh[i]); err != nil {
			return err
		}
	}
	switch {
	case !j.tally.SameSums(&sums):
		return fmt.Errorf("files and counters are %d and %v, counted as %d and %v", sums.Files(), sums.Counters(), j.tally.Files(), j.tally.Counters())
	case doubled != j.doubled:
		return fmt.Errorf("%d attempts are speculative or wanted so, counted as %d", doubled, j.doubled)
	case resting != j.resting:
		return fmt.Errorf("%d attempts are suspended, counted as %d", resting, j.resting)
	}
	return nil
}

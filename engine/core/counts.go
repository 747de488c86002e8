package core

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// Who watches a job asks for its status ten times a second, so what the status shows of
// a million nodes is counted as they change, not when it is asked for.

// counterSum is one counter over the accepted attempts that counted it.
type counterSum struct {
	name     string
	value    int64
	attempts int
}

// enter moves a bundle to a phase.
func (b *bundle) enter(p bundlePhase) {
	old := b.phase
	b.phase = p
	switch {
	case b.single:
		b.job.stages[b.stage].move(old, p)
	case b.last():
		b.job.stages[len(b.job.stages)-1].move(old, p)
	default:
		for i := range b.groups() {
			for _, x := range b.nodes(i) {
				b.job.stages[b.job.plan.Node(x).Stage].move(old, p)
			}
		}
	}
}

func (s *stage) move(from, to bundlePhase) {
	s.nodesIn[from]--
	s.nodesIn[to]++
}

// rest counts a suspended attempt, or that it is none any more.
func (a *attempt) rest(by int) {
	a.launcher.suspended += by
	a.run.bundle.job.resting += by
}

// sum adds the counters and files of an accepted attempt, or takes off those of one that another
// was accepted in place of.
func (j *job) sum(k *commit, by int) {
	j.files += by * len(k.report.GetFiles())
	for _, n := range k.report.GetCounters() {
		i, found := slices.BinarySearchFunc(j.sums, n.GetName(), func(s counterSum, name string) int { return cmp.Compare(s.name, name) })
		if !found {
			j.sums = slices.Insert(j.sums, i, counterSum{name: n.GetName()})
		}
		s := &j.sums[i]
		s.value += int64(by) * n.GetValue()
		if s.attempts += by; s.attempts == 0 {
			j.sums = slices.Delete(j.sums, i, i+1)
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
			j.sum(k, +1)
		}
	}
}

// counters lists the sums of the accepted attempts' counters, in order of name.
func (j *job) counters() []*wire.Counter {
	list := make([]*wire.Counter, len(j.sums))
	for i, s := range j.sums {
		list[i] = &wire.Counter{Name: s.name, Value: s.value}
	}
	return list
}

func (j *job) stageStatus() []*wire.StageStatus {
	list := make([]*wire.StageStatus, len(j.stages))
	for i := range j.stages {
		s := &j.stages[i]
		list[i] = &wire.StageStatus{
			Name: s.name, Nodes: uint32(s.nodes), Failures: uint32(s.failures), Waiting: uint32(s.nodesIn[bundleWaiting]),
			Ready: uint32(s.nodesIn[bundleReady]), Running: uint32(s.nodesIn[bundleRunning]), Finished: uint32(s.nodesIn[bundleFinished]),
		}
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
	fresh := &job{plan: j.plan, stages: slices.Clone(j.stages)}
	for i := range fresh.stages {
		fresh.stages[i].nodesIn = [bundleFinished + 1]int32{}
	}
	doubled := 0
	for _, a := range j.attempts {
		if a.run.speculative {
			doubled++
		}
	}
	for i := range j.bundles {
		b := &j.bundles[i]
		if b.twice != 0 {
			doubled++
		}
		for g := range b.Width() {
			nodes := []int{len(j.stages) - 1}
			if !b.last() {
				nodes = nodes[:0]
				for _, x := range b.nodes(g) {
					nodes = append(nodes, j.plan.Node(x).Stage)
				}
			}
			for _, s := range nodes {
				fresh.stages[s].nodesIn[b.phase]++
			}
		}
		if !b.last() {
			for _, k := range b.kept {
				fresh.sum(k, +1)
			}
		}
	}
	if fresh.files != j.files {
		return fmt.Errorf("accepted attempts wrote %d files, counted as %d", fresh.files, j.files)
	}
	if doubled != j.doubled {
		return fmt.Errorf("%d attempts are speculative or wanted so, counted as %d", doubled, j.doubled)
	}
	for i := range j.stages {
		if a, b := j.stages[i].nodesIn, fresh.stages[i].nodesIn; a != b {
			return fmt.Errorf("stage %q has nodes %v by phase, counted as %v", j.stages[i].name, b, a)
		}
	}
	if !slices.Equal(j.sums, fresh.sums) {
		return fmt.Errorf("the counters are %v, counted as %v", fresh.sums, j.sums)
	}
	resting := 0
	for _, a := range j.attempts {
		if a.phase == attemptSuspended {
			resting++
		}
	}
	if resting != j.resting {
		return fmt.Errorf("%d attempts are suspended, counted as %d", resting, j.resting)
	}
	return nil
}

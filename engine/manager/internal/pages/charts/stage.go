package charts

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// stage is the drawn data of a stage, or of several together.
type stage struct {
	name                                          string
	nodes, finished, running, suspended, failures int
}

// stagesOf joins the stages of a graph with their progress. A stage without progress has not begun.
func stagesOf(g restapi.Graph, progress []restapi.Stage) []stage {
	known := make(map[string]restapi.Stage, len(progress))
	for _, p := range progress {
		known[p.Name] = p
	}
	all := make([]stage, 0, len(g.Stages))
	for _, s := range g.Stages {
		p, ok := known[s.Name]
		if !ok {
			p.Nodes = s.Nodes
		}
		nodes := max(p.Nodes, 0)
		all = append(all, stage{s.Name, nodes, min(max(p.Finished, 0), nodes), max(p.Running, 0), max(p.Suspended, 0), max(p.Failures, 0)})
	}
	return all
}

// add adds another stage's numbers.
func (s *stage) add(other stage) {
	s.nodes += other.nodes
	s.finished += other.finished
	s.running += other.running
	s.suspended += other.suspended
	s.failures += other.failures
}

// progress is the stage's progress in words.
func (s *stage) progress() string {
	failures := ""
	if s.failures > 0 {
		failures = counted(s.failures, "failure")
	}
	return listed(fmt.Sprintf("%d of %s finished", s.finished, counted(s.nodes, "node")), some(s.running, "running"), some(s.suspended, "suspended"), failures)
}

// rank is lower for stages that people look for: failed ones, then running ones, then future ones.
func (s *stage) rank() int {
	switch {
	case s.failures > 0:
		return 0
	case s.running+s.suspended > 0:
		return 1
	case s.finished < s.nodes:
		return 2
	}
	return 3
}

// picked marks the stages to draw one by one, at most so many: those of the lowest rank, and of
// these the first.
func picked(all []stage, most int) []bool {
	numbers := make([]int, len(all))
	for i := range all {
		numbers[i] = i
	}
	slices.SortStableFunc(numbers, func(a, b int) int { return cmp.Compare(all[a].rank(), all[b].rank()) })
	is := make([]bool, len(all))
	for _, i := range numbers[:min(most, len(numbers))] {
		is[i] = true
	}
	return is
}

package state

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/graph"
)

// The stage that reads an adapted connection, or that aggregates, has a bundle for each node that
// there may be. Those beyond the least width are unused. When the nodes are chosen, as many as are
// needed wait instead, and the others stay unused.

// leastNodes returns how many nodes of a stage are used at first.
func (j *Job) leastNodes(stage int) int {
	nodes := j.Plan.StageNodes(stage)
	if conn, is := j.Inputs.Files.Chosen(stage); is {
		nodes = min(nodes, j.Inputs.Width(conn))
	}
	return nodes
}

// startsUnused says whether a bundle is beyond the least width of a stage whose nodes are chosen.
func (j *Job) startsUnused(b *Bundle) bool {
	if b.Last() {
		return false
	}
	conn, is := j.Inputs.Files.Chosen(int(b.Stage))
	return is && int(b.First) >= j.Inputs.LeastWidth(conn)
}

// expandAdapted marks the bundles that are unused at first.
func (j *Job) expandAdapted() {
	for i := range j.Bundles {
		if b := &j.Bundles[i]; j.startsUnused(b) {
			b.phase = BundleUnused
			j.unfinished--
			j.unused++
		}
	}
}

// Grow makes the bundles wait that were chosen by a connection. It returns how many more there are
// than before.
func (j *Job) Grow(conn int32) (more int) {
	stage := int(j.Plan.Connection(int(conn)).ToStage)
	s := &j.Stages[stage]
	for n := s.Groups(); n < j.Inputs.Width(conn); n++ {
		b, _ := j.GroupOf(graph.Node{Stage: stage, Index: n})
		b.phase = BundleWaiting
		more++
	}
	s.Grow(more)
	j.unfinished += more
	j.unused -= more
	j.markStageDirty(stage)
	return more
}

// Spread returns how the partitions of a stage's adapted connection were given to readers; the
// zero value: there is none, or they were not yet.
func (j *Job) Spread(stage int) changes.Spread {
	if stage < len(j.Plan.Graph.Stages) {
		if conn, is := j.Inputs.Files.Adapted(stage); is {
			s, _ := j.Inputs.Spread(conn)
			return s
		}
	}
	return changes.Spread{}
}

// Aggregation says what was chosen of an aggregating stage; the zero value: it is none.
func (j *Job) Aggregation(stage int) changes.Aggregation {
	if stage < len(j.Plan.Graph.Stages) {
		return j.Inputs.Aggregation(stage)
	}
	return changes.Aggregation{}
}

// checkUnused checks a bundle that is not used.
func (b *Bundle) checkUnused() error {
	j := b.Job
	conn, is := j.Inputs.Files.Chosen(int(b.Stage))
	switch {
	case b.Last() || !is:
		return fmt.Errorf("it is not used, and no connection chooses its stage's nodes")
	case int(b.First) < j.Inputs.Width(conn):
		return fmt.Errorf("node %d of %d is not used", b.First, j.Inputs.Width(conn))
	case len(b.Attempts()) > 0 || b.lastCommits != nil:
		return fmt.Errorf("it is not used, and has %d attempts", len(b.Attempts()))
	}
	return nil
}

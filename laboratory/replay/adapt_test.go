package replay

import (
	"testing"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// A job with an aggregating stage is played again with as many nodes of it, and where there were none,
// without.
func TestAggregatingNodesAreThoseOfTheDay(t *testing.T) {
	for nodes := range uint32(3) {
		j := &seenJob{id: 1, widths: map[uint32]uint32{1: nodes}, spec: &wire.JobSpec{Graph: &wire.Graph{
			Stages: []*wire.Stage{{Name: "map", Nodes: 4}, {Name: "combine", Nodes: 9}, {Name: "reduce", Nodes: 2}},
			Connections: []*wire.Connection{
				{ToStage: 1, ToPort: "a", Aggregate: &wire.Aggregate{Level: wire.Level_LEVEL_MACHINE, Bytes: 1}}, {FromStage: 1, ToStage: 2, ToPort: "b"},
			},
		}}}
		got, err := (&gatherer{}).submission(j, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, to := got.Graph.Connections[0], uint32(1)
		if nodes == 0 {
			to = 2
		}
		if c.Aggregate != nil || c.ToStage != to || got.Graph.Stages[1].Nodes != nodes {
			t.Errorf("with %d nodes on the day it is %v", nodes, got.Graph)
		}
	}
}

// A job whose readers were chosen on the recorded day is played again with as many.
func TestAdaptedReadersAreThoseOfTheDay(t *testing.T) {
	spec := func() *wire.JobSpec {
		return &wire.JobSpec{Graph: &wire.Graph{
			Stages:      []*wire.Stage{{Name: "map", Nodes: 2}, {Name: "reduce", Nodes: 50}},
			Connections: []*wire.Connection{{ToStage: 1, Adapt: &wire.Adapt{Partitions: 40, Bytes: 1}}},
		}}
	}
	j := &seenJob{id: 1, spec: spec()}
	g := &gatherer{attempts: map[uint64]*seenAttempt{}, byID: map[uint64]*seenJob{1: j}}
	for i, node := range []*wire.NodeRef{{Stage: 0, Index: 1}, {Stage: 1, Index: 0}, {Stage: 1, Index: 6}, {Stage: 1, Index: 6}} {
		g.launched(&wire.StartAttempt{Job: 1, Attempt: uint64(i + 1), Nodes: []*wire.NodeRef{node}})
	}
	for what, c := range map[string]struct {
		j    *seenJob
		want uint32
	}{
		"seen":          {j, 7},
		"never started": {&seenJob{id: 2, spec: spec()}, 1},
	} {
		got, err := g.submission(c.j, nil)
		if err != nil || got.Graph.Stages[1].Nodes != c.want || got.Graph.Connections[0].Adapt != nil || got.Graph.Stages[0].Nodes != 2 {
			t.Errorf("%s: %v (%v), want %d readers", what, got, err, c.want)
		}
	}
}

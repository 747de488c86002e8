package graph

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// AggregateOut returns the connection out of the stage that aggregates what a connection carries;
// false: the connection's reading stage does not aggregate, or the graph is not valid.
func AggregateOut(g *wire.Graph, conn int) (out int, is bool) {
	c := g.Connections[conn]
	if c.Aggregate == nil {
		return 0, false
	}
	for i, other := range g.Connections {
		if other != nil && other.FromStage == c.ToStage {
			return i, true
		}
	}
	return 0, false
}

// validateAggregate checks a connection into an aggregating stage: the stage has this connection and
// one out of it, and what it writes has as many partitions as what it reads.
func validateAggregate(g *wire.Graph, i int, c *wire.Connection) error {
	where, a, by := Describe(g, i), c.Aggregate, g.Stages[c.ToStage]
	switch {
	case !fileShuffle(c):
		return fmt.Errorf("%s has an aggregating stage, which only all-to-all connections of files have: make it one, or leave Aggregate out", where)
	case c.SlowStart > 0 || c.Adapt != nil:
		return fmt.Errorf("%s has an aggregating stage, whose nodes are chosen when all writers have finished: leave slow-start and Adapt out", where)
	case a.Level != wire.Level_LEVEL_MACHINE && a.Level != wire.Level_LEVEL_RACK:
		return fmt.Errorf("%s aggregates by an unknown level (%d): use the machine or the rack", where, a.Level)
	case a.Bytes < 1:
		return fmt.Errorf("%s aggregates from %d bytes on: use 1 or more", where, a.Bytes)
	case by.GetNodes() < 1:
		return fmt.Errorf("%s has an aggregating stage without nodes: give stage %q as many as there are to be at most", where, by.GetName())
	case len(by.GetInputs()) > 0:
		return fmt.Errorf("%s has an aggregating stage, and that reads stored files too: read those in another stage", where)
	}
	outs := 0
	for k, other := range g.Connections {
		if other == nil || k == i {
			continue
		}
		if other.ToStage == c.ToStage {
			return fmt.Errorf("%s has an aggregating stage, and connection %d leads to stage %q too: let it read one", where, k, by.GetName())
		}
		if other.FromStage != c.ToStage {
			continue
		}
		outs++
		if int(other.ToStage) >= len(g.Stages) {
			continue // its own check says so
		}
		to := g.Stages[other.ToStage]
		switch {
		case !fileShuffle(other) || other.SlowStart > 0 || other.Adapt != nil || other.Aggregate != nil:
			return fmt.Errorf("%s leads from an aggregating stage: make it all-to-all of files, without slow-start, Adapt and Aggregate", Describe(g, k))
		case to.GetNodes() < 1:
			return fmt.Errorf("%s leads from an aggregating stage to stage %q without nodes: give it some", Describe(g, k), to.GetName())
		}
	}
	if outs != 1 {
		return fmt.Errorf("%s has an aggregating stage, and %d connections lead from stage %q: it needs one", where, outs, by.GetName())
	}
	return nil
}

// fileShuffle reports whether a connection is an all-to-all of files.
func fileShuffle(c *wire.Connection) bool {
	return c.Kind == wire.ChannelKind_CHANNEL_KIND_FILE && c.Pattern == wire.Pattern_PATTERN_ALL_TO_ALL
}

// partitionsOf returns how many partitions each writer of a connection writes; 0: one for each reader.
func partitionsOf(g *wire.Graph, conn int) int {
	if out, is := AggregateOut(g, conn); is {
		return int(g.Stages[g.Connections[out].ToStage].Nodes)
	}
	return int(g.Connections[conn].GetAdapt().GetPartitions())
}

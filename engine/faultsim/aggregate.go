package faultsim

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// aggregateStream distinguishes the random numbers of aggregating stages from those of the history.
const aggregateStream = 0x616767

// aggregated is what is known of a job's aggregating stage.
type aggregated struct {
	in, out uint32 // connections into it and out of it
	stage   uint32
	reads   uint32 // the stage of the final readers
	writers uint32
	// What attempts were started with: by node of the stage how many writers it reads, and by writer
	// the node that reads it, or finalReader.
	counts map[uint32]uint32
	by     map[uint32]int
	direct *wire.InputCount // how many writers each final reader reads; nil: none has started
	nodes  uint32           // how many nodes of the stage each final reader reads
	// forgotten: the log has lost records, so nodes may have been chosen anew.
	forgotten bool
}

const finalReader = -1

// drawAggregated draws which jobs have an aggregating stage, in the middle of an all-to-all connection
// of files. Where there is none, the job gets one to a further stage.
func (c *clients) drawAggregated(r *rand.Rand) {
	for _, j := range c.list {
		if j.wrong || j.adapted != nil || r.IntN(2) == 0 {
			continue
		}
		g := j.spec.Graph
		conn := slices.IndexFunc(g.Connections, func(x *wire.Connection) bool {
			return x.Kind == wire.ChannelKind_CHANNEL_KIND_FILE && x.Pattern == wire.Pattern_PATTERN_ALL_TO_ALL && g.Stages[x.ToStage].Nodes > 0
		})
		if conn < 0 {
			from := slices.IndexFunc(g.Stages, func(s *wire.Stage) bool { return s.Nodes > 3 && s.Elements == nil })
			if from < 0 {
				continue
			}
			conn = len(g.Connections)
			g.Connections = append(g.Connections, &wire.Connection{
				FromStage: uint32(from), FromPort: "o", ToStage: uint32(len(g.Stages)), ToPort: "i",
				Pattern: wire.Pattern_PATTERN_ALL_TO_ALL, Kind: wire.ChannelKind_CHANNEL_KIND_FILE,
			})
			g.Stages = append(g.Stages, &wire.Stage{Name: "final", Nodes: 1 + r.Uint32N(3), Kind: g.Stages[from].Kind, PreferKind: g.Stages[from].PreferKind})
		}
		c.aggregate(j, conn, r)
	}
}

// aggregate puts an aggregating stage into a job's connection.
func (c *clients) aggregate(j *fakeJob, conn int, r *rand.Rand) {
	g := j.spec.Graph
	x := g.Connections[conn]
	a := &aggregated{
		in: uint32(conn), out: uint32(len(g.Connections)), stage: uint32(len(g.Stages)), reads: x.ToStage, writers: g.Stages[x.FromStage].Nodes,
		counts: map[uint32]uint32{}, by: map[uint32]int{},
	}
	g.Stages = append(g.Stages, &wire.Stage{Name: "aggregate", Nodes: 1 + r.Uint32N(4), Kind: g.Stages[x.FromStage].Kind, PreferKind: g.Stages[x.FromStage].PreferKind})
	g.Connections = append(g.Connections, &wire.Connection{
		FromStage: a.stage, FromPort: "out", ToStage: x.ToStage, ToPort: x.ToPort, Pattern: x.Pattern, Kind: x.Kind, Store: x.Store,
	})
	x.ToStage, x.ToPort, x.SlowStart = a.stage, "in", 0
	x.Aggregate = &wire.Aggregate{Level: wire.Level_LEVEL_MACHINE, Bytes: []int64{1, 1, 1, 500, 3000}[r.IntN(5)]}
	if r.IntN(2) == 0 {
		x.Aggregate.Level = wire.Level_LEVEL_RACK
	}
	j.plan, _ = graph.Expand(g, 64<<20, graph.DefaultLimits()) // it was expanded before
	j.runs.Graph = j.plan
	j.aggregated = a
	c.Seen["aggregating stages"]++
}

// checkCounts checks what an attempt is to read of the connections around its job's aggregating
// stage. The choice of nodes is made once, whatever happens then, unless the log lost it.
func (c *clients) checkCounts(m *wire.StartAttempt) error {
	a := c.byID[m.Job].aggregated
	var want []uint32
	aggregates := false
	for _, n := range m.Nodes {
		switch {
		case a == nil:
		case n.Stage == a.stage:
			want, aggregates = []uint32{a.in}, true
		case n.Stage == a.reads:
			want = []uint32{a.in, a.out}
		}
	}
	counts := map[uint32]*wire.InputCount{}
	for _, x := range m.InputCounts {
		counts[x.Connection] = x
	}
	if len(m.InputCounts) != len(want) || slices.ContainsFunc(want, func(conn uint32) bool { return counts[conn] == nil }) {
		return fmt.Errorf("attempt %d of nodes %v has the counts %v, want some of connections %d", m.Attempt, m.Nodes, m.InputCounts, want)
	}
	switch {
	case want == nil || a.forgotten:
		return nil
	case aggregates:
		c.Seen["attempts of aggregating nodes"]++
		return a.checkNode(m, counts[a.in].Writers)
	}
	return a.checkReader(m, counts[a.in], counts[a.out].Writers)
}

// checkNode checks an attempt at an aggregating node, which reads so many writers.
func (a *aggregated) checkNode(m *wire.StartAttempt, writers uint32) error {
	node := m.Nodes[0].Index
	if before, there := a.counts[node]; writers < 2 || there && before != writers || a.direct != nil && node >= a.nodes {
		return fmt.Errorf("attempt %d of aggregating node %d of %d reads %d writers, and read %d before", m.Attempt, node, a.nodes, writers, before)
	}
	a.counts[node] = writers
	return a.claim(m, int(node), writers)
}

// checkReader checks an attempt of the final readers, which starts after all chosen nodes have
// finished.
func (a *aggregated) checkReader(m *wire.StartAttempt, direct *wire.InputCount, nodes uint32) error {
	if a.direct != nil && (a.direct.Writers != direct.Writers || a.nodes != nodes) {
		return fmt.Errorf("attempt %d reads %d writers and %d nodes, and one before read %d and %d", m.Attempt, direct.Writers, nodes, a.direct.Writers, a.nodes)
	}
	a.direct, a.nodes = direct, nodes
	sum := direct.Writers
	for _, n := range a.counts {
		sum += n
	}
	if len(a.counts) != int(nodes) || sum != a.writers {
		return fmt.Errorf("attempt %d reads %d of %d writers, and %d nodes, of which %v have read writers", m.Attempt, direct.Writers, a.writers, nodes, a.counts)
	}
	return a.claim(m, finalReader, direct.Writers)
}

// claim checks that no writer is read by two: two aggregating nodes, or one and the final readers.
func (a *aggregated) claim(m *wire.StartAttempt, by int, most uint32) error {
	n := uint32(0)
	for _, s := range m.Sources {
		if s.Connection != a.in {
			continue
		}
		if other, there := a.by[s.From]; there && other != by {
			return fmt.Errorf("attempt %d reads writer %d as node %d, and node %d reads it", m.Attempt, s.From, by, other)
		}
		a.by[s.From] = by
		n++
	}
	if n > most {
		return fmt.Errorf("attempt %d is given %d writers, and reads %d", m.Attempt, n, most)
	}
	return nil
}

// used returns how many nodes of the stage a job used that has succeeded.
func (a *aggregated) used(st *wire.StageStatus) uint32 {
	if a.forgotten {
		return st.Nodes
	}
	return uint32(len(a.counts))
}

// mayLack reports whether a node may be one that is not used.
func (a *aggregated) mayLack(stage, index uint32) bool {
	return stage == a.stage && (a.forgotten || index >= uint32(len(a.counts)))
}

package graph

import (
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/expand"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Expanded is an expanded graph with its wire messages.
type Expanded struct {
	*expand.Expanded
	Graph *wire.Graph // as given; defaults are not filled in
}

// The parts of an expanded graph are those of package expand.
type (
	Group  = expand.Group
	Bundle = expand.Bundle
	Node   = expand.Node
	Range  = expand.Range
)

// Each calls f for every index of a range or list.
func Each(r Range, list []int32, f func(i int)) { expand.Each(r, list, f) }

// Expand validates a graph and expands it. Where a stage sets none, its kind is "default", it has 1
// slot, and memoryDefault bytes of memory.
func Expand(g *wire.Graph, memoryDefault int64, l Limits) (*Expanded, error) {
	if err := validate(g, l); err != nil {
		return nil, err
	}
	p, err := expand.Expand(of(g), memoryDefault, expand.Limits{GroupNodes: l.GroupNodes, BundleGroups: l.BundleGroups})
	if err != nil {
		return nil, err
	}
	return &Expanded{p, g}, nil
}

// Join validates a graph and lists the edges of its connections. A process that runs a few of its
// nodes needs no more. The result has no groups and no bundles.
func Join(g *wire.Graph, l Limits) (*Expanded, error) {
	if err := validate(g, l); err != nil {
		return nil, err
	}
	p, err := expand.Join(of(g))
	if err != nil {
		return nil, err
	}
	return &Expanded{p, g}, nil
}

// Connection returns a connection's message.
func (p *Expanded) Connection(c int) *wire.Connection { return p.Graph.Connections[c] }

// of takes a valid graph. The numbers of patterns and channel kinds are those of package job.
func of(g *wire.Graph) expand.Graph {
	all := expand.Graph{Stages: make([]expand.Stage, len(g.Stages)), Connections: make([]expand.Connection, len(g.Connections))}
	for i, s := range g.Stages {
		all.Stages[i] = expand.Stage{
			Name: s.Name, Nodes: int(s.Nodes), Kind: s.Kind, PreferKind: s.PreferKind, Slots: int(s.Slots), Memory: s.Memory, Resources: wire.ResourcesOf(s.Resources), Command: s.Command, OwnProcess: s.OwnProcess,
		}
	}
	for i, c := range g.Connections {
		all.Connections[i] = expand.Connection{
			From: int(c.FromStage), FromPort: c.FromPort, To: int(c.ToStage), ToPort: c.ToPort,
			Pattern: job.Pattern(c.Pattern), Kind: job.ChannelKind(c.Kind), Edges: listed(c.Edges), Partitions: partitionsOf(g, i),
		}
	}
	return all
}

type listed []*wire.Edge

func (l listed) Len() int            { return len(l) }
func (l listed) At(i int) (int, int) { return int(l[i].GetFrom()), int(l[i].GetTo()) }

// KindOf returns the slot kind of a stage.
func KindOf(s *wire.Stage) string {
	if s.Kind == "" {
		return scheduler.DefaultKind
	}
	return s.Kind
}

package expand

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Graph is the part of a job's graph that expansion needs, from any source. Its connections name
// existing stages.
type Graph struct {
	Stages      []Stage
	Connections []Connection
}

// Stage is a stage of a graph.
type Stage struct {
	Name       string
	Nodes      int
	Kind       scheduler.SlotKind  // "": scheduler.DefaultKind
	PreferKind scheduler.SlotKind  // "": none
	Slots      int                 // of a group; 0: 1
	Memory     int64               // bytes of a node; 0: the default
	Resources  scheduler.Resources // of a node
	Command    string              // "": it is a program
	OwnProcess bool
}

func (s *Stage) kind() scheduler.SlotKind {
	if s.Kind == "" {
		return scheduler.DefaultKind
	}
	return s.Kind
}

// Connection joins two stages, named by their indexes.
type Connection struct {
	From, To         int
	FromPort, ToPort string
	Pattern          job.Pattern
	Kind             job.ChannelKind
	Edges            EdgeList // of pattern job.Edges; its nodes exist
	Partitions       int      // that each writer writes, of a connection whose readers are chosen; 0: one for each of its readers
}

// EdgeList is a list of edges in any representation.
type EdgeList interface {
	Len() int
	At(i int) (from, to int) // indexes of nodes
}

// Limits bound what is joined; 0 means no bound.
type Limits struct {
	GroupNodes   int // nodes of one group
	BundleGroups int // groups of one bundle
}

// Of converts a job's graph.
func Of(g *job.Graph) Graph {
	var all Graph
	for _, s := range g.Stages() {
		x := s.Spec()
		stage := Stage{Name: x.Name, Nodes: x.Nodes, Kind: x.Kind, PreferKind: x.PreferKind, Slots: x.Slots, Memory: x.Memory, Resources: x.Resources, OwnProcess: x.OwnProcess}
		if x.Command != nil {
			stage.Command = x.Command.Args[0]
		}
		all.Stages = append(all.Stages, stage)
	}
	for _, c := range g.Connections() {
		all.Connections = append(all.Connections, Connection{
			From: c.From.Stage.Spec().ID, FromPort: c.From.Name, To: c.To.Stage.Spec().ID, ToPort: c.To.Name,
			Pattern: c.Pattern, Kind: c.Channel.Kind, Edges: listed(c.Edges), Partitions: partitionsOf(g, c),
		})
	}
	return all
}

// partitionsOf returns how many partitions each writer writes; 0: one for each reader.
func partitionsOf(g *job.Graph, c job.Connection) int {
	if out, is := g.AggregateOut(c); is {
		return out.To.Stage.Spec().Nodes
	}
	return c.Channel.Adapt.Partitions
}

type listed []job.Edge

func (l listed) Len() int            { return len(l) }
func (l listed) At(i int) (int, int) { return l[i].From, l[i].To }

// Describe names a connection for people.
func (g *Graph) Describe(i int) string {
	c := &g.Connections[i]
	return fmt.Sprintf("connection %s.%s to %s.%s", g.Stages[c.From].Name, c.FromPort, g.Stages[c.To].Name, c.ToPort)
}

// checkPattern checks that a connection's pattern fits its stages.
func (g *Graph) checkPattern(i int) error {
	c := &g.Connections[i]
	n, m, where := g.Stages[c.From].Nodes, g.Stages[c.To].Nodes, g.Describe(i)
	switch c.Pattern {
	case job.AllToAll:
	case job.OneToOne:
		if n != m {
			return fmt.Errorf("%s is one-to-one but joins %d nodes to %d: give both stages the same number", where, n, m)
		}
	case job.Merge:
		if n < m || (m == 0 && n > 0) {
			return fmt.Errorf("%s merges %d nodes into %d: use fork, or fewer readers than writers", where, n, m)
		}
	case job.Fork:
		if n > m || (n == 0 && m > 0) {
			return fmt.Errorf("%s forks %d nodes into %d: use merge, or fewer writers than readers", where, n, m)
		}
	case job.Edges:
		for e := range c.Edges.Len() {
			if from, to := c.Edges.At(e); from < 0 || from >= n || to < 0 || to >= m {
				return fmt.Errorf("%s lists an edge from node %d of %d to node %d of %d: nodes count from 0", where, from, n, to, m)
			}
		}
	default:
		return fmt.Errorf("%s has an unknown pattern (%d): use one-to-one, all-to-all, merge, fork or edges", where, c.Pattern)
	}
	return nil
}

package job

import (
	"errors"
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Build runs a definition's builder and checks the graph as far as possible without a cluster:
// names, ports, counts. The manager checks the rest.
func Build(d Definition, args []string, p Planner) (*Graph, error) {
	for i, arg := range args {
		if err := CheckUTF8(fmt.Sprintf("argument %d", i+1), arg); err != nil {
			return nil, fmt.Errorf("job %s: %w", d.Name, err)
		}
	}
	g := &Graph{planner: p}
	if err := d.Build(g, args); err != nil {
		return nil, fmt.Errorf("job %s: %w", d.Name, err)
	}
	g.check()
	if err := errors.Join(g.errs...); err != nil {
		return nil, fmt.Errorf("job %s: %w", d.Name, err)
	}
	return g, nil
}

// Planned returns the plans of all Files calls, for Recorded.
func (g *Graph) Planned() [][]Task { return g.planned }

// Stages returns the stages in order of their ids.
func (g *Graph) Stages() []*Stage { return g.stages }

// Connections returns the connections in the order they were made.
func (g *Graph) Connections() []Connection { return g.connections }

// Outputs returns the job's output folders as the Planner made them, for Recorded.
func (g *Graph) Outputs() []string { return g.outputs }

// Properties returns the job's free properties.
func (g *Graph) Properties() map[string]string { return g.properties }

// StageSpec is a stage as the engine sees it.
type StageSpec struct {
	Name       string
	ID         int
	Nodes      int
	Program    Program  // nil for a command
	Command    *Command // nil for a program
	Kind       string
	PreferKind string // "": none
	Slots      int
	Memory     int64
	Resources  scheduler.Resources // of a node
	Attempts   int                 // how often a group may fail before the job does; 0: the site's default
	Shuffles   bool
	OwnProcess bool
	NoSuspend  bool
	Expected   time.Duration // how long a task is expected to run; 0: unknown
	Timeout    time.Duration // 0: none
	Quiet      time.Duration // 0: none for a program
	Tasks      []Task
	Files      []string // local files for its commands
	Elements   Elements // none: it is no job array
}

// Element returns the index of a node as an element of a job array; 0 where the stage is none.
func (s *StageSpec) Element(node int) int {
	if s.Elements.Count() == 0 {
		return 0
	}
	return s.Elements.Index(node)
}

// Spec returns the stage as the engine sees it.
func (s *Stage) Spec() StageSpec {
	command := s.command
	if command != nil && command.Quiet == 0 && s.quiet > 0 {
		own := *command
		own.Quiet = s.quiet
		command = &own
	}
	return StageSpec{s.name, s.id, s.nodes, s.program, command, s.kind, s.preferKind, s.slots, s.memory, scheduler.NewResources(s.resources...), s.attempts, s.shuffles, s.ownProcess, s.noSuspend, s.expected, s.timeout, s.quiet, s.tasks, s.files, s.elements}
}

// check finds errors in the graph as the author wrote it.
func (g *Graph) check() {
	g.checkText()
	g.checkElements()
	used := map[string]bool{}
	for _, c := range g.connections {
		g.checkConnection(c)
		used[portKey(c.From)] = true
		used[portKey(c.To)] = true
	}
	for _, s := range g.stages {
		for _, name := range s.ins {
			if !used[portKey(Port{s, name, false})] {
				g.errorf("input port %q of stage %q is connected to nothing: join it or do not name it", name, s.name)
			}
		}
		for _, name := range s.outs {
			if !used[portKey(Port{s, name, true})] {
				g.errorf("output port %q of stage %q is connected to nothing: join it or do not name it", name, s.name)
			}
		}
		if s.expected < 0 {
			g.errorf("stage %q is expected to run for %v: use 0 for unknown", s.name, s.expected)
		}
		if s.timeout < 0 || s.quiet < 0 {
			g.errorf("stage %q has a negative time limit (Timeout %v, Quiet %v): use 0 for none", s.name, s.timeout, s.quiet)
		}
		if err := scheduler.CheckResources(s.resources); err != nil {
			g.errorf("stage %q asks for %w", s.name, err)
		}
		if s.tasks != nil && len(s.tasks) != s.nodes {
			g.errorf("stage %q has %d nodes and %d tasks to read: give each node one", s.name, s.nodes, len(s.tasks))
		}
	}
}

func (g *Graph) checkConnection(c Connection) {
	if c.From.Stage == nil || c.To.Stage == nil || !c.From.out || c.To.out {
		g.errorf("a connection goes from an Out port to an In port")
		return
	}
	from, to := c.From.Stage, c.To.Stage
	where := fmt.Sprintf("connection %s.%s to %s.%s", from.name, c.From.Name, to.name, c.To.Name)
	switch {
	case c.Channel.Kind < File || c.Channel.Kind > SHM:
		g.errorf("%s has no channel kind: use job.File, job.TCP or job.SHM", where)
	case c.Pattern == OneToOne && from.nodes != to.nodes:
		g.errorf("%s is one-to-one but joins %d nodes to %d", where, from.nodes, to.nodes)
	case c.Pattern == Merge && from.nodes < to.nodes:
		g.errorf("%s merges %d nodes into %d: use Fork", where, from.nodes, to.nodes)
	case c.Pattern == Fork && from.nodes > to.nodes:
		g.errorf("%s forks %d nodes into %d: use Merge", where, from.nodes, to.nodes)
	case c.Channel.SlowStart < 0 || c.Channel.SlowStart >= 1 || c.Channel.SlowStart != c.Channel.SlowStart:
		g.errorf("%s has slow-start %v: use 0 to below 1", where, c.Channel.SlowStart)
	case c.Channel.SlowStart > 0 && c.Channel.Kind != File:
		g.errorf("%s has slow-start, which only file channels have", where)
	}
	if c.Channel.Aggregate != (Aggregate{}) {
		g.checkAggregate(c, where)
	} else if c.Channel.Adapt != (Adapt{}) {
		g.checkAdapt(c, where)
	}
	for _, e := range c.Edges {
		if e.From < 0 || e.From >= from.nodes || e.To < 0 || e.To >= to.nodes {
			g.errorf("%s has an edge from node %d to node %d, which do not exist", where, e.From, e.To)
		}
	}
}

// checkAdapt checks an adapted connection. The manager checks it again, against the site's limits.
func (g *Graph) checkAdapt(c Connection, where string) {
	a, to := c.Channel.Adapt, c.To.Stage
	switch {
	case c.Channel.Kind != File || c.Pattern != AllToAll:
		g.errorf("%s has an Adapt, which only all-to-all connections of files have", where)
	case c.Channel.SlowStart > 0:
		g.errorf("%s has an Adapt, which waits for all producers, and slow-start: leave one of the two out", where)
	case a.Bytes < 1:
		g.errorf("%s joins partitions up to %d bytes: give Adapt.Bytes 1 or more", where, a.Bytes)
	case a.Partitions < 1 || a.Partitions > to.nodes:
		g.errorf("%s has %d partitions for at most %d consumers: give Adapt.Partitions at least 1, and stage %q as many nodes or more", where, a.Partitions, to.nodes, to.name)
	case to.tasks != nil:
		g.errorf("%s has an Adapt, and stage %q reads stored files too: read those in another stage", where, to.name)
	}
	for _, other := range g.connections {
		if portKey(other.To) == portKey(c.To) && portKey(other.From) == portKey(c.From) {
			continue
		}
		if other.To.Stage == to || other.From.Stage == to {
			g.errorf("%s has an Adapt, and another connection joins stage %q: a stage that reads an adapted connection has no other, so put what comes after into another job", where, to.name)
		}
	}
}

// checkAggregate checks a connection into an aggregating stage. The manager checks it again.
func (g *Graph) checkAggregate(c Connection, where string) {
	a, by := c.Channel.Aggregate, c.To.Stage
	switch {
	case !fileShuffle(c):
		g.errorf("%s has an Aggregate, which only all-to-all connections of files have", where)
	case c.Channel.SlowStart > 0 || c.Channel.Adapt != (Adapt{}):
		g.errorf("%s has an Aggregate, whose nodes are chosen when all producers have finished: leave slow-start and Adapt out", where)
	case a.By != Machine && a.By != Rack:
		g.errorf("%s aggregates by an unknown level (%d): give Aggregate.By Machine or Rack", where, a.By)
	case a.Bytes < 1:
		g.errorf("%s aggregates from %d bytes on: give Aggregate.Bytes 1 or more", where, a.Bytes)
	case by.nodes < 1:
		g.errorf("%s has an Aggregate, and stage %q has no nodes: give it as many as there are to be at most", where, by.name)
	case by.tasks != nil:
		g.errorf("%s has an Aggregate, and stage %q reads stored files too: read those in another stage", where, by.name)
	}
	ins, outs := 0, 0
	for _, other := range g.connections {
		if other.To.Stage == by {
			ins++
		}
		if other.From.Stage != by {
			continue
		}
		outs++
		switch x := other.Channel; {
		case !fileShuffle(other) || x.SlowStart > 0 || x.Adapt != (Adapt{}) || x.Aggregate != (Aggregate{}):
			g.errorf("the connection from %s.%s leads from an aggregating stage: make it all-to-all of files, without SlowStart, Adapt and Aggregate", by.name, other.From.Name)
		case other.To.Stage == nil || other.To.Stage.nodes < 1:
			g.errorf("the aggregating stage %q writes for a stage without nodes: give that some", by.name)
		}
	}
	if ins != 1 || outs != 1 {
		g.errorf("%s has an Aggregate, and stage %q has %d inputs and %d outputs: give it one connection to the final consumers, and no other", where, by.name, ins, outs)
	}
}

func fileShuffle(c Connection) bool { return c.Channel.Kind == File && c.Pattern == AllToAll }

// AggregateOut returns the connection out of the stage that aggregates what a connection carries;
// false: the connection's consuming stage does not aggregate.
func (g *Graph) AggregateOut(c Connection) (out Connection, is bool) {
	if c.Channel.Aggregate == (Aggregate{}) {
		return Connection{}, false
	}
	for _, other := range g.connections {
		if other.From.Stage == c.To.Stage {
			return other, true
		}
	}
	return Connection{}, false
}

func portKey(p Port) string { return fmt.Sprint(p.Stage.id, p.out, p.Name) }

package job

import (
	"context"
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Program is what a node runs. After it returns, the engine ends the node's output channels and
// commits its files. An error or a panic fails the attempt. The context ends when the attempt is
// killed.
type Program func(ctx context.Context, n *Node) error

// Definition is a job that a program offers by name.
type Definition struct {
	Name string
	Help string // one line: its arguments and its purpose
	// Build makes the graph. Its only I/O is g.Files.
	Build func(g *Graph, args []string) error
	// Env names variables of the submitter's environment that the job's workers get: its builder,
	// its nodes and their commands. All other variables are the launcher's. Env's are stored with
	// the job's plan, so they must not hold secrets.
	Env []string
}

// ChannelKind is how a channel carries its batches.
type ChannelKind uint8

// The kinds of channel.
const (
	File ChannelKind = iota + 1 // stored; survives its writer; read after it is complete
	TCP                         // streamed between processes that run at the same time
	SHM                         // handed over inside one process, not copied
)

// String returns the kind's name.
func (k ChannelKind) String() string {
	switch k {
	case File:
		return "file"
	case TCP:
		return "tcp"
	case SHM:
		return "shm"
	}
	return fmt.Sprintf("channel kind %d", uint8(k))
}

// Codec compresses the blocks of file and tcp channels.
type Codec uint8

// The codecs. The zero value is the site's default.
const (
	SiteCodec Codec = iota
	NoCodec
	LZ4
	Zstd
)

// Channel describes the channels of one connection.
type Channel struct {
	Kind  ChannelKind
	Codec Codec
	// SlowStart, between 0 and 1, lets consumers start when that share of the producers has
	// finished; 0 waits for all. Only for file channels.
	SlowStart float64
	// Store is a folder (URL) for the files of a file channel; if it is "", the launchers that ran
	// the producers keep them.
	Store string
	// Adapt chooses at run time what the consumers read. The zero value gives each one partition.
	Adapt Adapt
	// Aggregate makes the consuming stage aggregate, where that pays. The zero value does not.
	Aggregate Aggregate
}

// Aggregate makes the consuming stage of an all-to-all file connection an aggregating one, such as
// of a combiner, before the outputs of a machine or a rack go to others. When all producers have
// finished, each machine or rack gets a node of the stage if at least two producers ran there, and
// what these stored together has at least Bytes. The node reads all partitions of these producers.
// It must write what is equivalent, with the partition of each record unchanged.
//
// The aggregating stage has one more connection: an all-to-all one of files to the final consumers.
// These get on the same input port what the nodes wrote, and what the producers wrote that no node
// read. The stage's number of nodes is the most that there may be: those that are not needed do not
// run. The choice does not change when producers run again.
type Aggregate struct {
	By    Level
	Bytes int64 // as they are stored (compressed)
}

// Level says what counts as one place.
type Level uint8

// The levels.
const (
	Machine Level = iota + 1
	Rack
)

// Adapt chooses what the consumers of an all-to-all file connection read, by the sizes of the
// partitions, when all producers have finished. Neighbouring partitions that are small get one
// consumer together. The number of nodes of the consuming stage is the most consumers that there may
// be: those that are not needed do not run. They are numbered from 0, in order of their partitions.
// The choice does not change when producers run again.
//
// The consuming stage reads nothing else, and has no connection out of it.
type Adapt struct {
	// Partitions is how many partitions each producer writes, at most one for each consumer.
	Partitions int
	// Bytes is up to how many bytes partitions are joined, as they are stored (compressed).
	Bytes int64
	// Split gives a large partition to several consumers. A partition is large if it has more than
	// five times the bytes of the median, and more than 256 MiB. Each of its consumers reads it from
	// some of the producers, about Bytes. So a consumer has all keys of the partition, and only some
	// of their records: only for programs that may work on parts. There must be more consumers than
	// partitions, or so many joined ones, that some are left for it.
	Split bool
}

// Pattern is how a connection joins the nodes of two stages.
type Pattern uint8

// The patterns. n is the number of writing nodes, m that of reading nodes.
const (
	OneToOne Pattern = iota + 1 // i to i; n == m
	AllToAll                    // every i to every j
	Merge                       // n >= m: i to floor(i*m/n)
	Fork                        // n <= m: j reads from floor(j*n/m)
	Edges                       // as Connection.Edges lists
)

// Edge joins node From of the writing stage to node To of the reading stage.
type Edge struct{ From, To int }

// Connection is one call of Connect, OneToOne, AllToAll, Merge or Fork.
type Connection struct {
	From, To Port
	Pattern  Pattern
	Channel  Channel
	Edges    []Edge // for pattern Edges
}

// Port is a named input or output of every node of a stage.
type Port struct {
	Stage *Stage
	Name  string
	out   bool
}

// Graph collects the stages and connections of one job. Not safe for concurrent
// use.
type Graph struct {
	stages      []*Stage
	connections []Connection
	outputs     []string
	properties  map[string]string
	planner     Planner
	planned     [][]Task

	elementsRead bool // the builder has called Elements
	errs         []error
}

// Stage is a set of nodes cloned from one program. Its methods return it, so
// that they can be chained.
type Stage struct {
	name       string
	id         int
	nodes      int
	program    Program
	command    *Command
	kind       scheduler.SlotKind
	preferKind scheduler.SlotKind // "": none
	slots      int
	memory     int64
	resources  []scheduler.ResourceCount // of a node
	attempts   int
	shuffles   bool
	ownProcess bool
	noSuspend  bool
	expected   time.Duration
	timeout    time.Duration
	quiet      time.Duration
	tasks      []Task
	files      []string
	elements   Elements // none: it is no job array
	ins, outs  []string
}

// Stage adds a stage: program cloned nodes times. A stage of zero nodes has no work.
func (g *Graph) Stage(name string, nodes int, program Program) *Stage {
	s := &Stage{name: name, id: len(g.stages), nodes: nodes, program: program, kind: scheduler.DefaultKind, slots: 1}
	if program == nil {
		g.errorf("stage %q has no program", name)
	}
	g.add(s)
	return s
}

// CommandStage adds a stage whose nodes are external commands, with records on
// standard input and standard output.
func (g *Graph) CommandStage(name string, nodes int, c Command) *Stage {
	s := &Stage{name: name, id: len(g.stages), nodes: nodes, command: &c, files: c.Files, kind: scheduler.DefaultKind, slots: 1}
	if len(c.Args) == 0 {
		g.errorf("command stage %q names no command", name)
	}
	g.add(s)
	return s
}

func (g *Graph) add(s *Stage) {
	for _, other := range g.stages {
		if other.name == s.name {
			g.errorf("two stages are called %q", s.name)
		}
	}
	if s.name == "" {
		g.errorf("stage %d has no name", s.id)
	}
	if s.nodes < 0 || s.nodes > NodesMax {
		g.errorf("stage %q has %d nodes: use 0 to %d", s.name, s.nodes, NodesMax)
	}
	g.stages = append(g.stages, s)
}

// NodesMax is the largest number of nodes of one stage.
const NodesMax = 1_000_000

// Kind sets the kind of slot that the stage's groups take. Nodes joined by shm must have the same
// kind.
func (s *Stage) Kind(kind scheduler.SlotKind) *Stage { s.kind = kind; return s }

// PreferKind names a kind of slot that the stage's groups take instead of their own, while the
// cluster has room for its bundles with that. The manager chooses when a job arrives, and again while nothing of the
// stage runs. Nodes joined by shm must prefer the same kind.
func (s *Stage) PreferKind(kind scheduler.SlotKind) *Stage { s.preferKind = kind; return s }

// Slots sets how many slots a group takes; 1 when not set.
func (s *Stage) Slots(n int) *Stage { s.slots = n; return s }

// Memory sets the memory that a node may use, in bytes; the site's default when not set.
func (s *Stage) Memory(bytes int64) *Stage { s.memory = bytes; return s }

// Resource sets how much of a kind of countable resource each node takes, such as 2 of "gpu", beside
// slots and memory. A group takes the sum of its nodes. scheduler.CoresKind counts processor cores. A
// job waits while no launcher has as much. See Info.Devices.
func (s *Stage) Resource(kind scheduler.ResourceKind, count int) *Stage {
	s.resources = append(s.resources, scheduler.ResourceCount{Kind: kind, Count: count})
	return s
}

// Attempts sets how often a group of the stage may fail before the job fails; the site's default, 4,
// when not set. 1 is for a program that must not be repeated after an error. Attempts that end with
// their launcher, or in favour of another job, are no failures. Of groups that start together the
// smallest number counts.
func (s *Stage) Attempts(n int) *Stage { s.attempts = n; return s }

// Shuffles marks a stage that gathers all its input before it executes, as a reduce does; policies
// see its two phases.
func (s *Stage) Shuffles() *Stage { s.shuffles = true; return s }

// OwnProcess keeps the stage's nodes from sharing a process with other nodes.
func (s *Stage) OwnProcess() *Stage { s.ownProcess = true; return s }

// Expect says how long each of the stage's tasks is expected to run, on the machines of the site. A
// policy may plan by it (scheduler.Stage.Expected); nothing fails when it is wrong. 0, the default,
// says nothing: then the manager takes the median of the program's last job of the same name.
func (s *Stage) Expect(d time.Duration) *Stage { s.expected = d; return s }

// NoSuspend excludes the stage's attempts, and the attempts that run together with them, from
// suspension. Use it for a program that holds an external lock, connection or lease: while the
// program is suspended, others would wait for it, or it would expire. The attempts may still be
// killed in favour of other jobs, and run again.
func (s *Stage) NoSuspend() *Stage { s.noSuspend = true; return s }

// Timeout is how long the program of a node may run; after it the program is ended and its attempt
// fails. Time in suspension does not count. 0, the default, is no limit.
func (s *Stage) Timeout(d time.Duration) *Stage { s.timeout = d; return s }

// Quiet is how long the program of a node may go without activity that the engine sees: a read, a
// write, a log line, a count, or a report of its position (Node.At, Node.Progress). After it the
// program is ended and its attempt fails. A node that waits for its input, for a reader of its
// output or for a command is not quiet. Commands have their own Command.Quiet; where that is 0,
// this limit applies. 0, the default, is no limit for a program.
func (s *Stage) Quiet(d time.Duration) *Stage { s.quiet = d; return s }

// Read gives node i the stored input tasks[i]. There must be one task for each node.
func (s *Stage) Read(tasks []Task) *Stage { s.tasks = tasks; return s }

// Files lists local files that travel with the job, for the commands that the program runs
// (Node.Run). They are placed in the node's scratch folder, under the last elements of their paths.
func (s *Stage) Files(paths ...string) *Stage { s.files = append(s.files, paths...); return s }

// In names an input port. It is an error if the port is never connected.
func (s *Stage) In(name string) Port {
	s.ins = appendNew(s.ins, name)
	return Port{Stage: s, Name: name}
}

// Out names an output port. If it is connected several times, each connection gets a copy of
// everything.
func (s *Stage) Out(name string) Port {
	s.outs = appendNew(s.outs, name)
	return Port{Stage: s, Name: name, out: true}
}

// OneToOne joins node i to node i.
func (g *Graph) OneToOne(from, to Port, c Channel) { g.connect(Connection{from, to, OneToOne, c, nil}) }

// AllToAll joins every node of from to every node of to: Dryad's complete
// bipartite join. Partition j of a writer goes to reader j.
func (g *Graph) AllToAll(from, to Port, c Channel) { g.connect(Connection{from, to, AllToAll, c, nil}) }

// Merge joins neighbouring writers to one reader each.
func (g *Graph) Merge(from, to Port, c Channel) { g.connect(Connection{from, to, Merge, c, nil}) }

// Fork joins each writer to several neighbouring readers.
func (g *Graph) Fork(from, to Port, c Channel) { g.connect(Connection{from, to, Fork, c, nil}) }

// Connect joins the nodes that edges list.
func (g *Graph) Connect(from, to Port, c Channel, edges []Edge) {
	g.connect(Connection{from, to, Edges, c, edges})
}

func (g *Graph) connect(c Connection) { g.connections = append(g.connections, c) }

// Property sets one of the job's free properties, which policies receive.
func (g *Graph) Property(name, value string) {
	if g.properties == nil {
		g.properties = map[string]string{}
	}
	g.properties[name] = value
}

// Folder is an output folder of the job, for Node.Create.
type Folder struct{ index int }

// Index is the folder's place in the job's list of outputs.
func (f Folder) Index() int { return f.index }

// Output declares a folder (URL or local path) that the job publishes, whole or not at all. The
// folder must not exist, and its parent must. A relative path is relative to the submitter's
// working folder.
func (g *Graph) Output(url string) Folder {
	folder, err := g.planner.Folder(url)
	if err != nil {
		g.errorf("output folder %q: %w", url, err)
	}
	for _, other := range g.outputs {
		if other == folder {
			g.errorf("two outputs go to %q: give each a folder of its own", url)
		}
	}
	g.outputs = append(g.outputs, folder)
	return Folder{len(g.outputs) - 1}
}

func (g *Graph) errorf(format string, args ...any) {
	g.errs = append(g.errs, fmt.Errorf(format, args...))
}

func appendNew(names []string, name string) []string {
	for _, n := range names {
		if n == name {
			return names
		}
	}
	return append(names, name)
}

package job

import (
	"context"
	"io"
	"log/slog"
	"time"
)

// Info describes a node to its program.
type Info struct {
	Job   string // such as job-12
	Stage string
	Index int // of the node within its stage
	Nodes int // of the stage
	// Element is the node's index in a job array (Stage.Elements), and Elements has all of its indices:
	// Elements.Count is 0 where the stage is no array. Commands find the index in HAMADRYAD_ELEMENT, and
	// the array in HAMADRYAD_ELEMENT_COUNT, HAMADRYAD_ELEMENT_MIN and HAMADRYAD_ELEMENT_MAX.
	Element  int
	Elements Elements
	Attempt  uint64
	Memory   int64 // bytes the node may use
	// Devices are the indices, from 0, of the countable resources that the node's group holds on
	// this launcher, by kind. No other live attempt there has them. Cores, and kinds that suspension
	// frees, have none. Commands find them in HAMADRYAD_RESOURCE_GPU=0,2, likewise for other kinds.
	Devices map[string][]int
	Scratch string // folder for its temporary files, removed after the attempt
}

// Runtime is the engine's side of a running node.
type Runtime interface {
	Info() Info
	Task() Task
	Input(port string) (Input, error)
	Output(port string) (Output, error)
	Open(ctx context.Context, s Split) (io.ReadCloser, error)
	Create(ctx context.Context, f Folder, name string) (io.WriteCloser, error)
	Count(name string, delta int64)
	Progress(done float64)
	At(path string, offset int64)
	Executing()
	Stopping() <-chan struct{}
	StopDeadline() time.Time
	AskCommit(ctx context.Context) error
	Run(ctx context.Context, c *Command, p Pipes) error
	Log() *slog.Logger
}

// Node is the handle of a running node. Its methods are safe for concurrent use;
// the Inputs and Outputs it returns are each for one goroutine.
type Node struct{ rt Runtime }

// NewNode is for engines: it makes the handle over a runtime.
func NewNode(rt Runtime) *Node { return &Node{rt} }

// Info says which node this is.
func (n *Node) Info() Info { return n.rt.Info() }

// Task is the stored input of this node.
func (n *Node) Task() Task { return n.rt.Task() }

// Input returns the input port of that name, or an error if the graph has none.
func (n *Node) Input(port string) (Input, error) { return n.rt.Input(port) }

// Output returns the output port of that name, or an error if the graph has none.
func (n *Node) Output(port string) (Output, error) { return n.rt.Output(port) }

// Open opens the file of a split at its offset. The file can be read to its end or until closed,
// since a record may cross the split's end. Open fails if the file changed since it was planned.
func (n *Node) Open(ctx context.Context, s Split) (io.ReadCloser, error) { return n.rt.Open(ctx, s) }

// Create makes a file in one of the job's output folders. Close keeps it; it appears under its name
// when the job succeeds. Names must be unique in a folder over all nodes, so include the node's
// index.
func (n *Node) Create(ctx context.Context, f Folder, name string) (io.WriteCloser, error) {
	return n.rt.Create(ctx, f, name)
}

// Count adds to a counter of the job. Only attempts whose output the job accepts count. If an int64
// can't hold a sum, the node fails when its program returns.
func (n *Node) Count(name string, delta int64) { n.rt.Count(name, delta) }

// Progress reports how much is done, 0 to 1, where the engine can't derive it from the stored input
// that was read. In a stage that shuffles it is the fraction of the execution that is done; a
// report before Executing shows after it. Values below 0 count as 0, those above 1 as 1. A value
// below an earlier one, or NaN, changes nothing. A call costs nanoseconds; the engine looks twice a
// second.
func (n *Node) Progress(done float64) { n.rt.Progress(done) }

// At notes where the current record comes from, for error messages.
func (n *Node) At(path string, offset int64) { n.rt.At(path, offset) }

// Executing reports that all input is gathered: the shuffle phase is over.
func (n *Node) Executing() { n.rt.Executing() }

// Stopping is closed when the attempt is asked to end soon (a soft kill). The program may finish
// early and return, with an error if its work is incomplete.
func (n *Node) Stopping() <-chan struct{} { return n.rt.Stopping() }

// StopDeadline is when the attempt will be killed; zero if it is not stopping.
func (n *Node) StopDeadline() time.Time { return n.rt.StopDeadline() }

// AskCommit asks the manager for the commit grant; each group gets only one. A program with an
// effect outside the engine calls it before that effect. An error means that another attempt has
// the grant, or that this attempt counts as lost.
func (n *Node) AskCommit(ctx context.Context) error { return n.rt.AskCommit(ctx) }

// Run runs a command to its end and leaves none of its processes behind, children included. Its
// working directory is the node's scratch folder, which holds the files that the stage lists. A
// soft kill of the attempt, or the end of ctx, sends SIGTERM, and SIGKILL after c.Grace. An exit
// code other than 0 is an error that matches *exec.ExitError and carries the last lines of standard
// error.
func (n *Node) Run(ctx context.Context, c Command, p Pipes) error { return n.rt.Run(ctx, &c, p) }

// Log returns a logger that writes to the attempt's log.
func (n *Node) Log() *slog.Logger { return n.rt.Log() }

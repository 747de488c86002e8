package job

import (
	"context"
	"io"
	"log/slog"
	"time"
)

// Info is what a node knows of itself.
type Info struct {
	Job     string // such as job-12
	Stage   string
	Index   int // of the node within its stage
	Nodes   int // of the stage
	Attempt uint64
	Memory  int64  // bytes the node may use
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

// Input returns the input port of that name; an error if the graph has none.
func (n *Node) Input(port string) (Input, error) { return n.rt.Input(port) }

// Output returns the output port of that name; an error if the graph has none.
func (n *Node) Output(port string) (Output, error) { return n.rt.Output(port) }

// Open opens the file of a split at its offset, to be read to the end of the
// file or until closed (a record may cross the split's end). It fails if the
// file changed since it was planned.
func (n *Node) Open(ctx context.Context, s Split) (io.ReadCloser, error) { return n.rt.Open(ctx, s) }

// Create makes a file in one of the job's output folders. Close it to keep it; it
// appears under its name when the job succeeds. Names are unique within a folder
// over all nodes, so put the node's index in.
func (n *Node) Create(ctx context.Context, f Folder, name string) (io.WriteCloser, error) {
	return n.rt.Create(ctx, f, name)
}

// Count adds to a counter of the job. Only the attempts that the job accepts count.
// A sum that an int64 can't hold fails the node when its program returns.
func (n *Node) Count(name string, delta int64) { n.rt.Count(name, delta) }

// Progress says how much is done, 0 to 1, where the engine can't tell from what
// was read of stored input. In a stage that shuffles it is how much of its execution is
// done; what is said before Executing shows after it. What is below 0 counts as 0, what is
// above 1 as 1; less than was said before, and what is no number, changes nothing. Call it
// as often as you like: it costs some nanoseconds, and the engine looks twice a second.
func (n *Node) Progress(done float64) { n.rt.Progress(done) }

// At notes where the record at hand comes from, for error messages.
func (n *Node) At(path string, offset int64) { n.rt.At(path, offset) }

// Executing says that all input was gathered: the shuffle phase is over.
func (n *Node) Executing() { n.rt.Executing() }

// Stopping is closed when the attempt is asked to end soon (a soft kill). The
// program may finish early and return, with an error if its work is not whole.
func (n *Node) Stopping() <-chan struct{} { return n.rt.Stopping() }

// StopDeadline is when the attempt will be killed; zero when it is not stopping.
func (n *Node) StopDeadline() time.Time { return n.rt.StopDeadline() }

// AskCommit asks the manager for the one grant that it gives for this group. A
// program with an effect outside the engine asks before it makes it. An error
// means another attempt has it, or this one counts as lost.
func (n *Node) AskCommit(ctx context.Context) error { return n.rt.AskCommit(ctx) }

// Run runs a command to its end and leaves nothing of it behind: not its
// children, nor theirs. Its working directory is the node's scratch folder, which
// holds the files that the stage lists; a soft kill of the attempt, and the end of
// ctx, are SIGTERM to it and SIGKILL after c.Grace. An exit code other than 0 is an
// error that matches *exec.ExitError and carries the last lines of standard error.
func (n *Node) Run(ctx context.Context, c Command, p Pipes) error { return n.rt.Run(ctx, &c, p) }

// Log is a logger that goes to the attempt's log.
func (n *Node) Log() *slog.Logger { return n.rt.Log() }

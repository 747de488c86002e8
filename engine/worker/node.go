package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/engine/worker/internal/failure"
	"github.com/hamadryad/hamadryad/engine/worker/layout"
	"github.com/hamadryad/hamadryad/internal/process"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// processLog writes to standard error, which the launcher keeps as the log of the running attempt.
var processLog = slog.New(slog.NewTextHandler(os.Stderr, nil))

// node is one running node: the engine's side of job.Node.
type node struct {
	group  *group
	spec   *job.StageSpec
	stage  int
	index  int
	task   job.Task
	memory int64
	ins    []*inPort // in order of the graph
	outs   map[string]*guard
	outAll []*guard // in order of the graph
	log    func() *slog.Logger
	read   localityBytes
	toRead atomic.Int64
	active activity
	limits limits // for the goroutine of tick

	placeFiles func() error // for commands; runs once

	executing atomic.Bool
	grace     atomic.Int64  // the longest of its commands', in nanoseconds
	progress  atomic.Uint64 // bits of a float64; NaN: the program reported nothing

	mu         sync.Mutex
	counters   job.Counters
	countError error // of the first overflow of a counter
	atPath     string
	atOffset   int64
}

var _ job.Runtime = (*node)(nil)

func newNode(g *group, stage, index int) *node {
	n := &node{group: g, spec: g.w.layout.Stage(stage), stage: stage, index: index, outs: map[string]*guard{}}
	n.task = g.w.layout.Task(stage, index)
	n.toRead.Store(n.task.Bytes())
	n.progress.Store(math.Float64bits(math.NaN()))
	n.placeFiles = sync.OnceValue(n.placeOnce)
	n.log = sync.OnceValue(func() *slog.Logger {
		return processLog.With("stage", n.spec.Name, "node", n.index)
	})
	return n
}

// shareMemory gives each node the memory that its stage asks for, and divides the rest equally
// among the nodes whose stages ask for none.
func shareMemory(total int64, nodes []*node) {
	unsaid := int64(0)
	for _, n := range nodes {
		n.memory = n.spec.Memory
		total -= n.memory
		if n.memory == 0 {
			unsaid++
		}
	}
	for _, n := range nodes {
		if n.memory == 0 {
			n.memory = max(total, 0) / unsaid
		}
	}
}

// errGoexit is the error of a program that ended its goroutine.
var errGoexit = errors.New("the program called runtime.Goexit (as the Fatal and FailNow of a test do), so it did not return: return an error")

// life runs the node and ends its channels.
func (n *node) life() {
	err := errGoexit
	defer func() { n.end(err) }() // also if the program ends this goroutine
	n.active.beginRunning()
	defer n.active.endRunning()
	err = n.program()
}

// end ends the node's channels once its program is over.
func (n *node) end(err error) {
	if err == nil {
		err = n.finish()
	}
	if err != nil {
		// Record the group's failure before the channels of this node fail, so that the nodes at
		// their other ends do not count as the cause.
		if n.group.ctx.Err() == nil || !n.group.failed() {
			n.group.fail(n, err)
		}
		n.failChannels(err)
	}
}

// program runs the user's code and turns a panic into an error.
func (n *node) program() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = failure.Panicked(p)
		}
	}()
	run := n.spec.Program
	if n.spec.Command != nil {
		run = process.Program(n.spec.Command)
	}
	return run(n.group.ctx, job.NewNode(n))
}

// finish discards unread input and completes the outputs.
func (n *node) finish() error {
	n.mu.Lock()
	wrong := n.countError
	n.mu.Unlock()
	if wrong != nil {
		return wrong
	}
	for _, in := range n.ins {
		_ = in.merge.Close() // unread input is not wanted; its failures no longer matter
	}
	for _, out := range n.outAll {
		if err := out.close(n.group.ctx); err != nil {
			return err
		}
	}
	if !n.group.files.closed(n) {
		return fmt.Errorf("the program returned without closing a file it created: close each file of Create to keep it")
	}
	return nil
}

// failChannels ends all channels as failed.
func (n *node) failChannels(cause error) {
	for _, in := range n.ins {
		_ = in.merge.Close()
	}
	for _, out := range n.outAll {
		out.abort(cause)
	}
}

// Info implements job.Runtime.
func (n *node) Info() job.Info {
	_ = n.group.folders.makeScratch() // a failure appears, with the path, at the first use
	return job.Info{
		Job: n.group.job, Stage: n.spec.Name, Index: n.index, Nodes: n.spec.Nodes, Element: n.spec.Element(n.index), Elements: n.spec.Elements,
		Attempt: n.group.start.Attempt, Memory: n.memory, Scratch: n.folder(), Devices: devices(),
	}
}

// devices returns the indices of countable resources that this process holds.
var devices = sync.OnceValue(func() map[string][]int { return layout.DevicesIn(os.Environ()) })

// folder is the node's own folder for temporary files; the group's folder if it has one node. The
// first call of Info makes it.
func (n *node) folder() string {
	if len(n.group.nodes) == 1 {
		return n.group.folders.scratch
	}
	path := filepath.Join(n.group.folders.scratch, "n"+strconv.Itoa(n.stage)+"."+strconv.Itoa(n.index))
	_ = os.MkdirAll(path, 0o700) // likewise
	return path
}

// Task implements job.Runtime.
func (n *node) Task() job.Task { return n.task }

// Input implements job.Runtime.
func (n *node) Input(port string) (job.Input, error) {
	for _, in := range n.ins {
		if in.name == port {
			return &watchedInput{in.merge, n.active.reading("reads input " + strconv.Quote(port) + n.writersOf(port))}, nil
		}
	}
	return nil, fmt.Errorf("stage %q has no connected input port %q", n.spec.Name, port)
}

// writersOf names the stages that write to an input port, for error messages.
func (n *node) writersOf(port string) string {
	l, text := n.group.w.layout, " from "
	var names []string
	for _, c := range l.Connections() {
		if name := l.StageName(c.FromStage); int(c.ToStage) == n.stage && c.ToPort == port && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return text + strings.Join(names, ", ")
}

// Output implements job.Runtime.
func (n *node) Output(port string) (job.Output, error) {
	if out := n.outs[port]; out != nil {
		return out, nil
	}
	return nil, fmt.Errorf("stage %q has no connected output port %q", n.spec.Name, port)
}

// sampleProgress records whether the program made progress since the last sample. It ends the
// attempt when the node has reached a limit of its stage.
func (n *node) sampleProgress() (moved bool) {
	moved = n.active.sampleMoved()
	if err := n.limits.tick(n, moved); err != nil && !n.group.failed() {
		n.group.fail(n, err)
	}
	return moved
}

// goesOn notes that the program makes progress.
func (n *node) goesOn() { n.active.note() }

// reads returns the counter of bytes that the node reads at a locality.
func (n *node) reads(level scheduler.Locality) *atomic.Int64 { return &n.read[level] }

// addCounters adds the node's counters to a sum, in order of name.
func (n *node) addCounters(sum job.Counters) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(n.counters)) {
		// A message carries UTF-8 alone.
		if err := sum.Add(strings.ToValidUTF8(name, "\uFFFD"), n.counters[name]); err != nil {
			return err
		}
	}
	return nil
}

// done is the share of its work that the node has done, 0 to 1: what its program reported, or the
// share of its stored input that it read. In a stage that shuffles it is the share of its
// execution: 0 before that, then what its program reports.
func (n *node) done() float64 {
	said := math.Float64frombits(n.progress.Load())
	switch {
	case n.spec.Shuffles && (!n.executing.Load() || math.IsNaN(said)):
		return 0
	case !math.IsNaN(said):
		return said
	}
	total := n.toRead.Load()
	if total <= 0 {
		return 0
	}
	read := n.read.addTo(make([]int64, len(n.read)))
	return min(1, float64(read)/float64(total))
}

// Count implements job.Runtime.
func (n *node) Count(name string, delta int64) {
	n.active.note()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.counters == nil {
		n.counters = job.Counters{}
	}
	if err := n.counters.Add(name, delta); err != nil && n.countError == nil {
		n.countError = err
	}
}

// Progress implements job.Runtime.
func (n *node) Progress(done float64) {
	if math.IsNaN(done) {
		return
	}
	n.active.note()
	done = min(max(done, 0), 1)
	for {
		bits := n.progress.Load()
		if done <= math.Float64frombits(bits) || n.progress.CompareAndSwap(bits, math.Float64bits(done)) {
			return
		}
	}
}

// At implements job.Runtime.
func (n *node) At(path string, offset int64) {
	n.active.note()
	n.mu.Lock()
	n.atPath, n.atOffset = path, offset
	n.mu.Unlock()
}

// origin is the position of the current record, as far as that is known.
func (n *node) origin() string {
	n.mu.Lock()
	path, offset := n.atPath, n.atOffset
	n.mu.Unlock()
	if path != "" {
		return path + ":" + strconv.FormatInt(offset, 10)
	}
	for _, in := range n.ins {
		if c := in.merge.Counts(); c.Records > 0 {
			return fmt.Sprintf("input %s, within the batch that ends with record %d", in.name, c.Records)
		}
	}
	return ""
}

// Executing implements job.Runtime.
func (n *node) Executing() {
	n.active.note()
	n.executing.Store(true)
}

// Stopping implements job.Runtime.
func (n *node) Stopping() <-chan struct{} { return n.group.stop.asked }

// StopDeadline implements job.Runtime.
func (n *node) StopDeadline() time.Time {
	return n.group.stop.endsBy()
}

// AskCommit implements job.Runtime.
func (n *node) AskCommit(ctx context.Context) error {
	asks := n.active.calling("asks to commit")
	asks.enter()
	defer asks.leave()
	return n.group.commit.ask(ctx, n.group.ctx)
}

// Log implements job.Runtime.
func (n *node) Log() *slog.Logger {
	n.active.note()
	return n.log()
}

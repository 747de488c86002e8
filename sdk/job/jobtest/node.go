package jobtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/internal/process"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// node is one running node.
type node struct {
	r     *run
	spec  job.StageSpec
	index int
	ins   map[string]*inbox
	outs  map[string]*outlet
	names []string // of the outputs, in order of the graph
	over  atomic.Bool

	placeFiles func() error // for commands, once

	mu         sync.Mutex
	doing      []string // the blocking calls it is in
	counters   job.Counters
	countError error // of the first counter sum that overflows an int64
	at         string
	files      []*part
}

var _ job.Runtime = (*node)(nil)

// part is a file that a node makes in an output folder.
type part struct {
	storage.File
	folder    int
	name      string
	temporary string
	kept      bool
}

func newNode(r *run, spec job.StageSpec, index int) *node {
	n := &node{r: r, spec: spec, index: index, ins: map[string]*inbox{}, outs: map[string]*outlet{}, counters: job.Counters{}}
	n.placeFiles = sync.OnceValue(n.placeOnce)
	return n
}

func (n *node) in(port string) *inbox {
	if n.ins[port] == nil {
		n.ins[port] = newInbox(n, port)
	}
	return n.ins[port]
}

func (n *node) out(port string) *outlet {
	if n.outs[port] == nil {
		n.outs[port] = &outlet{node: n, name: port, over: &n.over}
		n.names = append(n.names, port)
	}
	return n.outs[port]
}

func (n *node) record() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.at
}

// enter notes that the node waits in a call, and wakes the writers of its inputs.
func (n *node) enter(does string) {
	n.mu.Lock()
	n.doing = append(n.doing, does)
	n.mu.Unlock()
	for _, in := range n.ins {
		in.mu.Lock()
		in.signal()
		in.mu.Unlock()
	}
}

// leave notes that the node does not wait in the call any more.
func (n *node) leave(does string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.Index(n.doing, does)
	n.doing = slices.Delete(n.doing, i, i+1)
}

// waits returns the calls in which the node waits, "" if it does not wait.
func (n *node) waits() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.doing, " and ")
}

func (n *node) closeInputs() {
	for _, in := range n.ins {
		for _, s := range in.sources {
			_ = s.Close()
		}
	}
}

func (n *node) closeOutputs(ctx context.Context) error {
	for _, name := range n.names {
		o := n.outs[name]
		for _, c := range o.connections {
			if len(c.streams) != o.Partitions() {
				return fmt.Errorf("output %s forks to %d and to %d nodes: consumers of one port need as many each", name, o.Partitions(), len(c.streams))
			}
		}
		if err := o.end(ctx); err != nil {
			return err
		}
	}
	return nil
}

// commit adds the node's counters and files to the job's.
func (n *node) commit() error {
	n.mu.Lock()
	wrong := n.countError
	n.mu.Unlock()
	if wrong != nil {
		return wrong
	}
	n.r.mu.Lock()
	defer n.r.mu.Unlock()
	for _, f := range n.files {
		if !f.kept {
			return fmt.Errorf("the program returned without closing the file %s that it created", f.name)
		}
		for _, other := range n.r.files {
			if other.folder == f.folder && other.name == f.name {
				return fmt.Errorf("another node made the file %s too: put the node's index in its name", f.name)
			}
		}
		n.r.files = append(n.r.files, *f)
	}
	for name, delta := range n.counters {
		if err := n.r.counters.Add(name, delta); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) abort() {
	for _, f := range n.files {
		_ = f.Abort()
	}
}

// Info implements job.Runtime.
func (n *node) Info() job.Info {
	scratch := filepath.Join(n.r.scratch, fmt.Sprintf("%d-%d", n.spec.ID, n.index))
	_ = os.MkdirAll(scratch, 0o777) // if it fails, creating a file there reports the error
	return job.Info{
		Job: jobName, Stage: n.spec.Name, Index: n.index, Nodes: n.spec.Nodes, Attempt: 1,
		Element: n.spec.Element(n.index), Elements: n.spec.Elements,
		Memory: cmp.Or(n.spec.Memory, n.r.options.Memory), Scratch: scratch,
	}
}

// Task implements job.Runtime.
func (n *node) Task() job.Task {
	if n.spec.Tasks == nil {
		return nil
	}
	return n.spec.Tasks[n.index]
}

// Input implements job.Runtime.
func (n *node) Input(port string) (job.Input, error) {
	if in := n.ins[port]; in != nil {
		return in, nil
	}
	return nil, fmt.Errorf("stage %s has no input port %q", n.spec.Name, port)
}

// Output implements job.Runtime.
func (n *node) Output(port string) (job.Output, error) {
	if out := n.outs[port]; out != nil {
		return out, nil
	}
	return nil, fmt.Errorf("stage %s has no output port %q", n.spec.Name, port)
}

// Open implements job.Runtime.
func (n *node) Open(ctx context.Context, s job.Split) (io.ReadCloser, error) {
	store, err := storage.For(s.Path)
	if err != nil {
		return nil, err
	}
	info, err := store.Stat(ctx, s.Path)
	if err != nil {
		return nil, err
	}
	if info.Version != s.Version {
		return nil, fmt.Errorf("%s changed since the job was planned: submit the job again", s.Path)
	}
	return store.Open(ctx, s.Path, s.Offset, -1)
}

// Create implements job.Runtime.
func (n *node) Create(ctx context.Context, f job.Folder, name string) (io.WriteCloser, error) {
	if err := job.CheckUTF8("create: the name", name); err != nil {
		return nil, err
	}
	out := n.r.graph.Outputs()[f.Index()]
	store, err := storage.For(out)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(temporary(out), fmt.Sprintf(".%d-%d-%s", n.spec.ID, n.index, name))
	file, err := store.Create(ctx, path)
	if err != nil {
		return nil, err
	}
	p := &part{File: file, folder: f.Index(), name: name, temporary: path}
	n.mu.Lock()
	n.files = append(n.files, p)
	n.mu.Unlock()
	return p, nil
}

// Close keeps the file.
func (p *part) Close() error {
	if p.kept {
		return errors.New("closed twice")
	}
	if err := p.Commit(); err != nil {
		return err
	}
	p.kept = true
	return nil
}

// Count implements job.Runtime.
func (n *node) Count(name string, delta int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.counters.Add(name, delta); err != nil && n.countError == nil {
		n.countError = err
	}
}

// At implements job.Runtime.
func (n *node) At(path string, offset int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.at = fmt.Sprintf("%s:%d", path, offset)
}

// Progress implements job.Runtime; it does nothing.
func (n *node) Progress(float64) {}

// Executing implements job.Runtime; it does nothing.
func (n *node) Executing() {}

// Stopping implements job.Runtime: there are no soft kills here.
func (n *node) Stopping() <-chan struct{} { return nil }

// StopDeadline implements job.Runtime.
func (n *node) StopDeadline() time.Time { return time.Time{} }

// AskCommit implements job.Runtime: there is one attempt, so it has the grant.
func (n *node) AskCommit(context.Context) error { return nil }

// Run implements job.Runtime.
func (n *node) Run(ctx context.Context, c *job.Command, p job.Pipes) error {
	if err := n.placeFiles(); err != nil {
		return err
	}
	return process.Run(ctx, process.Site{Info: n.Info(), Log: logWriter{n.Log()}}, c, p)
}

// placeOnce copies the stage's local files into the node's folder.
func (n *node) placeOnce() error {
	var files []process.File
	for _, path := range n.spec.Files {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files = append(files, process.File{Path: path, Executable: info.Mode()&0o111 != 0, Data: data})
	}
	return process.Place(n.Info().Scratch, files)
}

// logWriter logs what a command writes to standard error.
type logWriter struct{ log *slog.Logger }

func (w logWriter) Write(p []byte) (int, error) {
	w.log.Info(string(bytes.TrimSuffix(p, []byte{'\n'})))
	return len(p), nil
}

// Log implements job.Runtime.
func (n *node) Log() *slog.Logger {
	return n.r.options.Log.With("stage", n.spec.Name, "node", n.index)
}

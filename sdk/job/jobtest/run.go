package jobtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/internal/process"
	"github.com/hamadryad/hamadryad/internal/split"
	"github.com/hamadryad/hamadryad/internal/userstack"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// Options are a run's settings. Zero values are the defaults.
type Options struct {
	// Parallel is how many bundles (nodes joined by tcp or shm channels) run at
	// once; the number of processors.
	Parallel int
	// Memory is the memory of each node whose stage sets none, in bytes; 64 MiB.
	Memory int64
	// Spill bounds what waits in one tcp or shm channel while its reader waits for something else,
	// in bytes; 1 GiB. A cluster spills it to disk.
	Spill int64
	// Elements are those that a submitter names with --array (job.Graph.Elements); the zero value: none.
	Elements job.Elements
	// Log receives what the nodes log; if nil, it is dropped.
	Log *slog.Logger
}

// Result is a job's result besides its output folders.
type Result struct {
	Counters map[string]int64
	Outputs  []string // absolute
}

// Error is the failure of a node.
type Error struct {
	Stage  string
	Index  int
	Record string // path:offset of the current record, or ""
	Err    error
}

// Error names the node and the record.
func (e *Error) Error() string {
	at := ""
	if e.Record != "" {
		at = " at " + e.Record
	}
	return fmt.Sprintf("stage %s, node %d%s: %v", e.Stage, e.Index, at, e.Err)
}

// Unwrap returns the program's own error.
func (e *Error) Unwrap() error { return e.Err }

// jobName is Info.Job of all nodes.
const jobName = "job-1"

// Run runs a definition to its end. A failed job leaves no output folder.
func Run(ctx context.Context, d job.Definition, args []string, o Options) (*Result, error) {
	o.Parallel = cmp.Or(o.Parallel, runtime.GOMAXPROCS(0))
	o.Memory = cmp.Or(o.Memory, 64<<20)
	o.Spill = cmp.Or(o.Spill, 1<<30)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	g, err := build(ctx, d, args, o.Elements)
	if err != nil {
		return nil, err
	}
	for _, out := range g.Outputs() {
		if _, err := os.Stat(out); err == nil {
			return nil, fmt.Errorf("job %s: the output %s exists: %w", d.Name, out, fs.ErrExist)
		}
	}
	scratch, err := os.MkdirTemp("", "jobtest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	r := &run{options: o, graph: g, scratch: scratch, counters: job.Counters{}}
	if err := r.wire(); err != nil {
		return nil, fmt.Errorf("job %s: %w", d.Name, err)
	}
	if err := r.all(ctx); err != nil {
		return nil, fmt.Errorf("job %s: %w", d.Name, errors.Join(err, r.clean()))
	}
	if err := r.publish(ctx); err != nil {
		return nil, fmt.Errorf("job %s: %w", d.Name, errors.Join(err, r.clean()))
	}
	return &Result{Counters: r.counters, Outputs: g.Outputs()}, nil
}

// build builds the graph as the submitter does, and again as a worker does.
func build(ctx context.Context, d job.Definition, args []string, e job.Elements) (*job.Graph, error) {
	first, err := job.Build(d, args, job.WithElements(split.Planner(ctx, nil), e))
	if err != nil {
		return nil, err
	}
	g, err := job.Build(d, args, job.WithElements(job.Recorded(first.Planned(), first.Outputs()), e))
	if err != nil {
		return nil, err
	}
	if describe(g) != describe(first) {
		return nil, fmt.Errorf("job %s builds another graph the second time: its builder must depend on its arguments and on nothing else", d.Name)
	}
	return g, nil
}

// describe is a graph's structure as text.
func describe(g *job.Graph) string {
	text := fmt.Sprintln(g.Outputs(), len(g.Planned()))
	for _, s := range g.Stages() {
		spec := s.Spec()
		spec.Program, spec.Command = nil, nil
		text += fmt.Sprintf("%+v\n", spec)
	}
	for _, c := range g.Connections() {
		text += fmt.Sprintln(c.From.Stage.Spec().ID, c.From.Name, c.To.Stage.Spec().ID, c.To.Name, c.Pattern, c.Channel, c.Edges)
	}
	return text
}

// run is one job in progress.
type run struct {
	options Options
	graph   *job.Graph
	scratch string
	late    atomic.Pointer[node] // a node that did not return in time
	nodes   []*node
	bundles []*bundle

	mu       sync.Mutex
	counters job.Counters
	files    []part
}

// all runs the bundles, each as soon as the bundles that it reads from are done.
func (r *run) all(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, out := range r.graph.Outputs() {
		if err := os.Mkdir(temporary(out), 0o777); err != nil {
			return fmt.Errorf("output %s: %w", out, err)
		}
	}
	slots := make(chan struct{}, r.options.Parallel)
	var wg sync.WaitGroup
	for _, b := range r.bundles {
		wg.Go(func() {
			defer close(b.done)
			for _, before := range b.after {
				<-before.done
			}
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			defer func() { <-slots }()
			b.run(ctx, cancel)
		})
	}
	wg.Wait()
	if n := r.late.Load(); n != nil {
		return fmt.Errorf("%w; stage %s, node %d did not return within %v of the end of its context: let its loops look at the context",
			context.Cause(ctx), n.spec.Name, n.index, nodeReturnMax)
	}
	return context.Cause(ctx)
}

// nodeReturnMax is how long nodes may go on after their context ended. Then Run returns without
// them: a goroutine can't be killed.
const nodeReturnMax = 5 * time.Second

// bundle is a set of nodes joined by tcp or shm channels.
type bundle struct {
	nodes []*node
	after []*bundle // bundles whose files it reads
	done  chan struct{}
}

func (b *bundle) run(ctx context.Context, cancel context.CancelCauseFunc) {
	if ctx.Err() != nil {
		return
	}
	done := make([]chan struct{}, len(b.nodes))
	for i, n := range b.nodes {
		done[i] = make(chan struct{})
		go func() {
			defer close(done[i])
			n.run(ctx, cancel)
		}()
	}
	late := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(nodeReturnMax, func() { close(late) })
	})()
	for i, n := range b.nodes {
		select {
		case <-done[i]:
		case <-late:
			select {
			case <-done[i]:
			default:
				n.r.late.Store(n)
			}
		}
	}
}

// errGoexit is the error of a program that ended its goroutine.
var errGoexit = errors.New("the program called runtime.Goexit (as the Fatal and FailNow of a test do), so it did not return: return an error")

// run runs the program, and ends the node's channels and files.
func (n *node) run(ctx context.Context, cancel context.CancelCauseFunc) {
	err := errGoexit
	defer func() {
		if err := n.end(ctx, err); err != nil {
			cancel(&Error{n.spec.Name, n.index, n.record(), err})
		}
	}()
	if limit := n.spec.Timeout; limit > 0 {
		late := time.AfterFunc(limit, func() {
			cancel(&Error{n.spec.Name, n.index, n.record(), fmt.Errorf("it ran for %v, which is the timeout of its stage", limit)})
		})
		defer late.Stop()
	}
	err = n.program(ctx)
}

// end ends the node's channels and files once its program is over.
func (n *node) end(ctx context.Context, err error) error {
	n.closeInputs()
	if err == nil {
		err = n.closeOutputs(ctx)
	}
	n.over.Store(true)
	if err == nil {
		err = n.commit()
	}
	if err != nil {
		n.abort()
	}
	return err
}

// program runs the user's code and turns a panic into an error.
func (n *node) program(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return n.spec.Program(ctx, job.NewNode(n))
}

// panicked converts a panic's value into an error.
func panicked(value any) error {
	if p, elsewhere := value.(*process.Panic); elsewhere {
		return fmt.Errorf("panic: %v\n%s", p.Value, userstack.Of(p.Stack))
	}
	return fmt.Errorf("panic: %v\n%s", value, userstack.Of(debug.Stack()))
}

func temporary(out string) string { return out + "." + jobName + ".tmp" }

// publish renames the files and the folders to their final names.
func (r *run) publish(ctx context.Context) error {
	for _, p := range r.files {
		to := filepath.Join(temporary(r.graph.Outputs()[p.folder]), p.name)
		if err := (storage.Local{}).Rename(ctx, p.temporary, to); err != nil {
			return fmt.Errorf("publish %s: %w", p.name, err)
		}
	}
	for _, out := range r.graph.Outputs() {
		if err := os.WriteFile(filepath.Join(temporary(out), "_SUCCESS"), []byte(jobName+"\n"), 0o666); err != nil {
			return err
		}
		if err := (storage.Local{NoSync: true}).Rename(ctx, temporary(out), out); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) clean() error {
	var errs []error
	for _, out := range r.graph.Outputs() {
		errs = append(errs, os.RemoveAll(temporary(out)))
	}
	return errors.Join(errs...)
}

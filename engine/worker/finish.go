package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/hamadryad/hamadryad/engine/publish"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/internal/failure"
	"github.com/hamadryad/hamadryad/engine/worker/layout"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// finisher publishes or cleans up in a job's last group. It runs no user program. One goroutine
// runs it; another delivers the files that it asks for.
type finisher struct {
	start   *wire.StartAttempt
	layout  *layout.Layout
	kept    *keptFolders
	reports *reports
	stop    *gracefulStop
	commit  *commit

	published []uint32               // indexes of outputs that were found published, in order
	wanted    atomic.Uint64          // number of the file that it waits for; 0: none
	more      chan *wire.FilesUpdate // the answer that it waits for: one at most
}

func newFinisher(start *wire.StartAttempt, r *reports, s *gracefulStop, c *commit) *finisher {
	return &finisher{start: start, reports: r, stop: s, commit: c, more: make(chan *wire.FilesUpdate, 1)}
}

// built sets the graph, before run.
func (f *finisher) built(l *layout.Layout, kept *keptFolders) { f.layout, f.kept = l, kept }

// found returns the outputs that were found published; nil for a nil finisher.
func (f *finisher) found() []uint32 {
	if f == nil {
		return nil
	}
	return f.published
}

// run publishes the job's outputs, keeps what could not be published, or removes the job's remains.
// It is idempotent: a second run accepts the result of the first.
func (f *finisher) run(ctx context.Context) error {
	do := f.start.Finish
	outputs, err := f.outputsOf(ctx, do)
	switch {
	case err != nil:
		return err
	case do.Publish:
		err = f.publish(ctx, outputs)
	case do.Keep:
		err = f.each(outputs, func(o *publish.Output) (bool, error) {
			if err := f.trusts(ctx, o); err != nil {
				return false, err
			}
			return keep(ctx, o)
		})
	case do.Granted:
		err = f.each(outputs, func(o *publish.Output) (bool, error) { return o.Withdraw(ctx) })
	default:
		err = f.each(outputs, func(o *publish.Output) (bool, error) { return false, o.Remove(ctx) })
	}
	if err != nil {
		return failure.AsOutput(err)
	}
	return f.removeChannels(ctx)
}

// outputsOf lists the job's outputs with their parts.
func (f *finisher) outputsOf(ctx context.Context, do *wire.Finish) ([]*publish.Output, error) {
	outputs := make([]*publish.Output, len(do.Outputs))
	mark := fmt.Sprintf("%v %s", scheduler.JobID(f.start.Job), f.start.JobName)
	if do.Mark != "" {
		mark += " " + do.Mark
	}
	for i, folder := range do.Outputs {
		outputs[i] = &publish.Output{
			Folder: folder, Temporary: f.kept.temporary(folder), Mark: mark + "\n", By: fmt.Sprintf("a%d", f.start.Attempt), Incomplete: do.Incomplete,
		}
	}
	for files, got := do.Files, uint64(0); ; {
		for _, p := range files {
			if int(p.Output) < len(outputs) {
				o := outputs[p.Output]
				o.Parts = append(o.Parts, publish.Part{Temporary: p.Temporary, Name: p.Name, Node: f.nodeName(p)})
			}
		}
		if got += uint64(len(files)); got >= do.FilesTotal {
			return outputs, nil
		}
		var err error
		if files, err = f.askFiles(ctx, got); err != nil {
			return nil, err
		}
	}
}

// askFiles gets the next files from the manager, which sends as many as fit into one command. The
// launcher repeats a question that was lost.
func (f *finisher) askFiles(ctx context.Context, from uint64) ([]*wire.CommittedFile, error) {
	f.wanted.Store(from)
	f.reports.report(&wire.Report{What: &wire.Report_FilesWanted{FilesWanted: &wire.FilesWanted{Attempt: f.start.Attempt, From: from}}})
	select {
	case m := <-f.more:
		if len(m.Files) == 0 {
			return nil, fmt.Errorf("the manager lists %d files to publish and knows no more than %d", f.start.Finish.FilesTotal, from)
		}
		return m.Files, nil
	case <-f.stop.asked:
		return nil, errors.New("stopped before it had the list of the files")
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// takeFiles takes in files for which askFiles waits. Repeated files change nothing. A nil finisher
// ignores them.
func (f *finisher) takeFiles(m *wire.FilesUpdate) {
	if f != nil && f.wanted.CompareAndSwap(m.From, 0) { // number 0 is never asked for
		f.more <- m
	}
}

// nodeName names the node that wrote a part.
func (f *finisher) nodeName(p *wire.CommittedFile) string {
	name := f.layout.StageName(p.Stage)
	if name == "" {
		return "a node"
	}
	return fmt.Sprintf("stage %s, node %d", name, p.Index)
}

// publish publishes the outputs in turn, once the manager has granted the commit. A failure to
// remove temporary folders afterwards is no failure of the attempt.
func (f *finisher) publish(ctx context.Context, outputs []*publish.Output) error {
	for _, o := range outputs {
		if err := publish.CheckNames(o.Parts); err != nil {
			return failure.Invalid(fmt.Errorf("output %s: %w", o.Folder, err))
		}
	}
	if err := f.commit.ask(ctx, ctx); err != nil {
		return err
	}
	for _, o := range outputs {
		if err := f.trusts(ctx, o); err != nil {
			return err
		}
		if err := o.Publish(ctx); err != nil {
			return fmt.Errorf("publish %s: %w", o.Folder, err)
		}
	}
	for _, o := range outputs {
		if err := o.Remove(ctx); err != nil {
			if !storage.Stays(err) {
				return err
			}
			fmt.Fprintf(os.Stderr, "worker: %s is left behind: %v\n", o.Temporary, err)
		}
	}
	return nil
}

// trusts refuses a temporary folder in which other users may have changed the parts. A missing
// folder may have been published already.
func (f *finisher) trusts(ctx context.Context, o *publish.Output) error {
	if err := f.kept.check(ctx, o.Temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("publish %s: %w", o.Folder, err)
	}
	return nil
}

// keep leaves unpublished parts for the user to recover. If their list can't be written to the
// store, it is printed to the log.
func keep(ctx context.Context, o *publish.Output) (published bool, err error) {
	published, err = o.Keep(ctx)
	if published || !storage.Stays(err) {
		return published, err
	}
	fmt.Fprintf(os.Stderr, "worker: the list of the parts of %s can't be written beside them: %v; this is it:\n", o.Folder, err)
	return false, o.List(os.Stderr)
}

// each calls do for each output, even if others fail, and notes the outputs that turn out to be
// published.
func (f *finisher) each(outputs []*publish.Output, do func(*publish.Output) (published bool, err error)) error {
	var errs []error
	for i, o := range outputs {
		published, err := do(o)
		if published {
			f.published = append(f.published, uint32(i))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// removeChannels removes channel files from the job's storage.
func (f *finisher) removeChannels(ctx context.Context) error {
	var errs []error
	for _, c := range f.layout.Connections() {
		if c.Store == "" {
			continue
		}
		folder := f.kept.channels(c.Store)
		s, err := storage.For(folder)
		if err != nil {
			return failure.Invalid(err)
		}
		errs = append(errs, s.Delete(ctx, folder))
	}
	return errors.Join(errs...)
}

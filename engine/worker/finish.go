package worker

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/publish"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// finish publishes the job's outputs, keeps what could not be published, or removes
// what the job left. Done again, it finds either state and ends right.
func (g *group) finish(ctx context.Context, f *wire.Finish) error {
	outputs, err := g.outputsOf(ctx, f)
	switch {
	case err != nil:
		return err
	case f.Publish:
		err = g.publish(ctx, outputs)
	case f.Keep:
		err = g.each(outputs, func(o *publish.Output) (bool, error) { return keep(ctx, o) })
	case f.Granted:
		err = g.each(outputs, func(o *publish.Output) (bool, error) { return o.Withdraw(ctx) })
	default:
		err = g.each(outputs, func(o *publish.Output) (bool, error) { return false, o.Remove(ctx) })
	}
	if err != nil {
		return asOutput(err)
	}
	return g.removeChannels(ctx)
}

// outputsOf lists the job's outputs with their parts.
func (g *group) outputsOf(ctx context.Context, f *wire.Finish) ([]*publish.Output, error) {
	outputs := make([]*publish.Output, len(f.Outputs))
	mark := fmt.Sprintf("%s %s", g.job, g.start.JobName)
	if f.Mark != "" {
		mark += " " + f.Mark
	}
	for i, folder := range f.Outputs {
		outputs[i] = &publish.Output{
			Folder: folder, Temporary: g.owner().Temporary(folder), Mark: mark + "\n", By: fmt.Sprintf("a%d", g.start.Attempt),
		}
	}
	for files, got := f.Files, uint64(0); ; {
		for _, p := range files {
			if int(p.Output) < len(outputs) {
				o := outputs[p.Output]
				o.Parts = append(o.Parts, publish.Part{Temporary: p.Temporary, Name: p.Name, Node: g.nodeName(p)})
			}
		}
		if got += uint64(len(files)); got >= f.FilesTotal {
			return outputs, nil
		}
		var err error
		if files, err = g.askFiles(ctx, got); err != nil {
			return nil, err
		}
	}
}

// askFiles gets the next files from the manager, which tells as many at once as fit
// into one command. The launcher repeats the question when it was lost.
func (g *group) askFiles(ctx context.Context, from uint64) ([]*wire.CommittedFile, error) {
	g.filesFrom.Store(from)
	g.w.report(&wire.Report{What: &wire.Report_FilesWanted{FilesWanted: &wire.FilesWanted{Attempt: g.start.Attempt, From: from}}})
	select {
	case m := <-g.filesMore:
		if len(m.Files) == 0 {
			return nil, fmt.Errorf("the manager lists %d files to publish and knows no more than %d", g.start.Finish.FilesTotal, from)
		}
		return m.Files, nil
	case <-g.stopping:
		return nil, errors.New("stopped before it had the list of the files")
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// moreFiles takes in files that askFiles waits for. A repetition changes nothing.
func (g *group) moreFiles(m *wire.FilesUpdate) {
	if g.filesFrom.CompareAndSwap(m.From, 0) { // from 0 nobody asks
		g.filesMore <- m
	}
}

// nodeName names the node that wrote a part.
func (g *group) nodeName(p *wire.CommittedFile) string {
	if int(p.Stage) >= len(g.w.specs) {
		return "a node"
	}
	return fmt.Sprintf("stage %s, node %d", g.w.specs[p.Stage].Name, p.Index)
}

// publish publishes the outputs in turn, once the manager has granted it. Temporary
// folders that can't be removed then make no failure of it.
func (g *group) publish(ctx context.Context, outputs []*publish.Output) error {
	for _, o := range outputs {
		if err := publish.CheckNames(o.Parts); err != nil {
			return &invalidError{fmt.Errorf("output %s: %w", o.Folder, err)}
		}
	}
	if err := g.askCommit(ctx); err != nil {
		return err
	}
	for _, o := range outputs {
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

// keep leaves what can't be published for a person. Where the store takes no list,
// it stands in the log.
func keep(ctx context.Context, o *publish.Output) (published bool, err error) {
	published, err = o.Keep(ctx)
	if published || !storage.Stays(err) {
		return published, err
	}
	fmt.Fprintf(os.Stderr, "worker: the list of the parts of %s can't be written beside them: %v; this is it:\n", o.Folder, err)
	return false, o.List(os.Stderr)
}

// each does a thing for each output, whatever becomes of the others, and notes those
// that turn out to be published.
func (g *group) each(outputs []*publish.Output, do func(*publish.Output) (published bool, err error)) error {
	var errs []error
	for i, o := range outputs {
		published, err := do(o)
		if published {
			g.published = append(g.published, uint32(i))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// owner is whose the folders on the job's storage are.
func (g *group) owner() plan.Owner {
	return plan.Owner{Cluster: g.w.setup.Cluster, Job: g.start.Job}
}

// removeChannels removes channel files kept on the job's storage.
func (g *group) removeChannels(ctx context.Context) error {
	var errs []error
	for _, c := range g.w.connections {
		if c.Store == "" {
			continue
		}
		folder := g.owner().Channels(c.Store)
		s, err := storage.For(folder)
		if err != nil {
			return &invalidError{err}
		}
		errs = append(errs, s.Delete(ctx, folder))
	}
	return errors.Join(errs...)
}

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
	outputs := g.outputsOf(f)
	var err error
	switch {
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
func (g *group) outputsOf(f *wire.Finish) []*publish.Output {
	outputs := make([]*publish.Output, len(f.Outputs))
	mark := fmt.Sprintf("%s %s", g.job, g.start.JobName)
	if f.Mark != "" {
		mark += " " + f.Mark
	}
	for i, folder := range f.Outputs {
		outputs[i] = &publish.Output{
			Folder: folder, Temporary: plan.Temporary(folder, g.start.Job), Mark: mark + "\n", By: fmt.Sprintf("a%d", g.start.Attempt),
		}
	}
	for _, p := range f.Files {
		if int(p.Output) < len(outputs) {
			o := outputs[p.Output]
			o.Parts = append(o.Parts, publish.Part{Temporary: p.Temporary, Name: p.Name, Node: g.nodeName(p)})
		}
	}
	return outputs
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

// removeChannels removes channel files kept on the job's storage.
func (g *group) removeChannels(ctx context.Context) error {
	var errs []error
	for _, c := range g.w.connections {
		if c.Store == "" {
			continue
		}
		folder := plan.Channels(c.Store, g.start.Job)
		s, err := storage.For(folder)
		if err != nil {
			return &invalidError{err}
		}
		errs = append(errs, s.Delete(ctx, folder))
	}
	return errors.Join(errs...)
}

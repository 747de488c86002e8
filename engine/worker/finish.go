package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

const (
	// successName is the file that says that an output folder is whole; it names
	// the job that published it.
	successName = "_SUCCESS"
	// publishName is the folder within the temporary one that becomes the output.
	publishName = "publish"
	// renamesAtOnce bounds the renames that go on at the same time.
	renamesAtOnce = 16
	// successMax bounds what is read of a _SUCCESS file, in bytes.
	successMax = 4 << 10
)

// finish publishes the job's outputs, or removes what it left. Done again, it
// finds either state and ends right.
func (g *group) finish(ctx context.Context, f *wire.Finish) error {
	if f.Publish {
		if err := g.askCommit(ctx); err != nil {
			return err
		}
		for i, output := range f.Outputs {
			if err := g.publish(ctx, f, i, output); err != nil {
				return fmt.Errorf("publish %s: %w", output, err)
			}
		}
	}
	return g.clean(ctx, f)
}

// clean removes temporary folders and channel files kept on the job's storage.
func (g *group) clean(ctx context.Context, f *wire.Finish) error {
	var errs []error
	for _, output := range f.Outputs {
		errs = append(errs, remove(ctx, plan.Temporary(output, g.start.Job)))
	}
	for _, c := range g.w.connections {
		if c.Store != "" {
			errs = append(errs, remove(ctx, keptFolder(c.Store, g.job)))
		}
	}
	return errors.Join(errs...)
}

func remove(ctx context.Context, folder string) error {
	s, err := storage.For(folder)
	if err != nil {
		return &invalidError{err}
	}
	return s.Delete(ctx, folder)
}

// publish makes one output folder appear, whole.
func (g *group) publish(ctx context.Context, f *wire.Finish, index int, output string) error {
	s, err := storage.For(output)
	if err != nil {
		return &invalidError{err}
	}
	if done, err := g.published(ctx, s, f, index, output); done || err != nil {
		return err
	}
	temporary := plan.Temporary(output, g.start.Job)
	folder := storage.Join(temporary, publishName)
	if err := makeFolder(ctx, s, folder); err != nil {
		return explainDisk(err, folder)
	}
	if err := moveAll(ctx, s, temporary, folder, f.Files, index); err != nil {
		return err
	}
	if err := g.writeSuccess(ctx, s, temporary, storage.Join(folder, successName)); err != nil {
		return err
	}
	err = s.Rename(ctx, folder, output)
	if errors.Is(err, fs.ErrExist) {
		return invalidf("%s appeared while the job ran and is not this job's: it is left as it is, and this job's parts are removed; submit with another output", output)
	}
	return err
}

// published reports whether this job published the output before. One that
// someone else made is an error.
func (g *group) published(ctx context.Context, s storage.Store, f *wire.Finish, index int, output string) (bool, error) {
	_, err := s.Stat(ctx, output)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r, err := s.Open(ctx, storage.Join(output, successName), 0, -1)
	if err == nil {
		defer r.Close()
		text, readErr := io.ReadAll(io.LimitReader(r, successMax))
		if readErr != nil {
			return false, readErr
		}
		if string(text) == g.successText() && !g.anyLeft(ctx, s, f, index, output) {
			return true, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return false, invalidf("%s exists and is not this job's: it is left as it is, and this job's parts are removed; submit with another output", output)
}

// anyLeft reports whether a part of the output still waits to be moved: then the
// folder was published by another cluster's job of the same id and name.
func (g *group) anyLeft(ctx context.Context, s storage.Store, f *wire.Finish, index int, output string) bool {
	temporary := plan.Temporary(output, g.start.Job)
	for _, p := range f.Files {
		if int(p.Output) == index {
			_, err := s.Stat(ctx, storage.Join(temporary, p.Temporary))
			return err == nil
		}
	}
	return false
}

// successText names the job, so that a publish that is done again knows its own.
func (g *group) successText() string {
	return fmt.Sprintf("%s %s\n", g.job, g.start.JobName)
}

// writeSuccess makes the file in the temporary folder and moves it to its place:
// what a worker that dies leaves half made must not be published.
func (g *group) writeSuccess(ctx context.Context, s storage.Store, temporary, name string) error {
	made := storage.Join(temporary, fmt.Sprintf("a%d.%s", g.start.Attempt, successName))
	f, err := s.Create(ctx, made)
	if err != nil {
		return explainDisk(err, made)
	}
	if _, err := io.WriteString(f, g.successText()); err != nil {
		_ = f.Abort() // the write's error says more
		return explainDisk(err, made)
	}
	if err := f.Commit(); err != nil {
		return explainDisk(err, made)
	}
	if err := s.Rename(ctx, made, name); err != nil && !errors.Is(err, fs.ErrExist) {
		return explainDisk(err, name)
	}
	return nil
}

// moveAll renames the parts of one output into its publish folder.
func moveAll(ctx context.Context, s storage.Store, temporary, folder string, parts []*wire.CommittedFile, index int) error {
	if err := makeParents(ctx, s, folder, parts, index); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	places := make(chan struct{}, renamesAtOnce)
	var moves sync.WaitGroup
	for _, p := range parts {
		if int(p.Output) != index || ctx.Err() != nil {
			continue
		}
		places <- struct{}{}
		moves.Go(func() {
			defer func() { <-places }()
			if err := move(ctx, s, storage.Join(temporary, p.Temporary), storage.Join(folder, p.Name)); err != nil {
				cancel(err)
			}
		})
	}
	moves.Wait()
	return context.Cause(ctx)
}

// move renames one part. A part that is in its place was moved before.
func move(ctx context.Context, s storage.Store, from, to string) error {
	err := s.Rename(ctx, from, to)
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		if _, statErr := s.Stat(ctx, to); statErr == nil {
			return nil
		}
		return &inputError{fmt.Errorf("part %s is gone: %w; was the job's temporary folder changed by hand?", from, err)}
	}
	if errors.Is(err, fs.ErrExist) {
		return invalidf("two parts are called %s: names must be unique over all nodes, so put the node's index in", path.Base(to))
	}
	return err
}

// makeParents makes the folders that names with a slash need, parents first.
func makeParents(ctx context.Context, s storage.Store, folder string, parts []*wire.CommittedFile, index int) error {
	made := map[string]bool{}
	for _, p := range parts {
		if int(p.Output) != index {
			continue
		}
		for i := range len(p.Name) {
			if p.Name[i] != '/' || made[p.Name[:i]] {
				continue
			}
			made[p.Name[:i]] = true
			if err := makeFolder(ctx, s, storage.Join(folder, p.Name[:i])); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeFolder makes a folder unless it is there.
func makeFolder(ctx context.Context, s storage.Store, folder string) error {
	if err := s.Mkdir(ctx, strings.TrimRight(folder, "/")); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

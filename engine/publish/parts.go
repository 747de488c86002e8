package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/hamadryad/hamadryad/sdk/storage"
)

// renamesAtOnce bounds the renames that go on at the same time. quickRenamesAtOnce does so for a store
// that can make renames durable together: a local one, which waits for no network. A file system does
// renames between folders one after the other, and more threads only wait for each other.
const (
	renamesAtOnce      = 16
	quickRenamesAtOnce = 2
)

// renameFunc is Rename of a storage.Store, or RenameSoon of a storage.LateSyncer.
type renameFunc func(ctx context.Context, from, to string) error

// CheckNames refuses parts that collide: two of one name, or one whose name is a folder of
// another's. The error names both nodes.
func CheckNames(parts []Part) error {
	owners := make(map[string]int, len(parts))
	for i, p := range parts {
		if first, taken := owners[p.Name]; taken {
			return fmt.Errorf("%s and %s both made an output file %q: names must be unique over all nodes, so put the node's index in", parts[first].Node, p.Node, p.Name)
		}
		owners[p.Name] = i
	}
	for _, p := range parts {
		for at := range len(p.Name) {
			if p.Name[at] != '/' {
				continue
			}
			if file, taken := owners[p.Name[:at]]; taken {
				return fmt.Errorf("%s made an output file %q and %s one in a folder of that name, %q: give one of them another name", parts[file].Node, p.Name[:at], p.Node, p.Name)
			}
		}
	}
	return nil
}

// fill renames the parts and the mark into the folder that becomes the output. If the store can, it
// makes them durable together instead of one after the other.
func (o *Output) fill(ctx context.Context) error {
	folders, err := o.makeParents(ctx)
	if err != nil {
		return err
	}
	atOnce, rename := renamesAtOnce, o.store.Rename
	late, ok := o.store.(storage.LateSyncer)
	if ok {
		atOnce, rename = quickRenamesAtOnce, late.RenameSoon
	}
	if err := o.moveWith(ctx, atOnce, rename); err != nil {
		return err
	}
	name := o.markName()
	if err := o.writeFile(ctx, name, storage.Join(o.ready(), name), o.Mark, rename); err != nil || !ok {
		return err
	}
	// The temporary folder is made durable by the rename of the whole output, which follows.
	for _, folder := range append(folders, o.ready()) {
		if err := late.SyncFolder(ctx, folder); err != nil {
			return err
		}
	}
	return nil
}

// moveWith renames the parts, so many at once.
func (o *Output) moveWith(ctx context.Context, atOnce int, rename renameFunc) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64 // the part to be moved next
	var movers sync.WaitGroup
	for range min(atOnce, len(o.Parts)) {
		movers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(o.Parts) {
					return
				}
				if err := o.move(ctx, o.Parts[i], rename); err != nil {
					cancel(err)
				}
			}
		})
	}
	movers.Wait()
	return context.Cause(ctx)
}

// move renames one part. If the part is in its place already, it was moved before.
func (o *Output) move(ctx context.Context, p Part, rename renameFunc) error {
	from, to := storage.Join(o.Temporary, p.Temporary), storage.Join(o.ready(), p.Name)
	err := rename(ctx, from, to)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, statErr := o.store.Stat(ctx, to); statErr == nil {
		return nil
	}
	return fmt.Errorf("part %s is gone: %w; was the job's temporary folder changed by hand?", from, err)
}

// makeParents makes the folders that names with a slash need, parents first, and
// returns them.
func (o *Output) makeParents(ctx context.Context) (folders []string, err error) {
	made := map[string]bool{}
	for _, p := range o.Parts {
		for i := range len(p.Name) {
			if p.Name[i] != '/' || made[p.Name[:i]] {
				continue
			}
			made[p.Name[:i]] = true
			folder := storage.Join(o.ready(), p.Name[:i])
			if err := o.makeFolder(ctx, folder); err != nil {
				return nil, err
			}
			folders = append(folders, folder)
		}
	}
	return folders, nil
}

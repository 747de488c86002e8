package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"sync"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/internal/failure"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// keptFolders are the job's folders on its storage. Each is checked before the group's first use of
// it, because other users may write beside it. Safe for concurrent use.
type keptFolders struct {
	owner  plan.Owner
	owners []string // the folders' owners, as the submitter found them

	mu      sync.Mutex
	checked map[string]bool // folders that passed the check
}

func newKeptFolders(cluster string, s *wire.StartAttempt) *keptFolders {
	about := s.GetFolders()
	return &keptFolders{owner: plan.Owner{Cluster: cluster, Job: s.GetJob(), Secret: about.GetSecret()}, owners: about.GetOwners()}
}

// temporary is the folder of an output's parts.
func (k *keptFolders) temporary(output string) string { return k.owner.Temporary(output) }

// channels is the folder of channel files below a folder.
func (k *keptFolders) channels(folder string) string { return k.owner.Channels(folder) }

// check refuses a folder in which other users may change files.
func (k *keptFolders) check(ctx context.Context, folder string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.checked[folder] {
		return nil
	}
	if err := plan.CheckFolder(ctx, folder, k.owners); err != nil {
		return err
	}
	if k.checked == nil {
		k.checked = map[string]bool{}
	}
	k.checked[folder] = true
	return nil
}

// create returns where an attempt writes a stored output, in the folder that the submitter made.
// Without the submitter's secret the folder is made here.
func (k *keptFolders) create(ctx context.Context, folder string, attempt uint64, name string) (storage.Store, string, error) {
	store, path, err := k.path(folder, attempt, name)
	if err != nil {
		return nil, "", err
	}
	channels := k.owner.Channels(folder)
	if k.owner.Secret == "" {
		if err := store.Mkdir(ctx, channels); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, "", failure.OnStore(err, folder)
		}
	}
	if err := k.check(ctx, channels); err != nil {
		return nil, "", failure.OnOutput(err, channels)
	}
	return store, path, nil
}

// open returns where a stored output is read. A missing folder is no error here: opening the file
// fails.
func (k *keptFolders) open(ctx context.Context, folder string, attempt uint64, name string) (storage.Store, string, error) {
	store, path, err := k.path(folder, attempt, name)
	if err != nil {
		return nil, "", err
	}
	channels := k.owner.Channels(folder)
	switch err := k.check(ctx, channels); {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return store, path, nil
	case errors.Is(err, fs.ErrPermission):
		return nil, "", failure.OnStore(err, channels)
	case ctx.Err() != nil:
		return nil, "", err
	default:
		return nil, "", fmt.Errorf("%w: %s: %w", channel.ErrUnreachable, channels, err)
	}
}

// path is the path of a stored output.
func (k *keptFolders) path(folder string, attempt uint64, name string) (storage.Store, string, error) {
	store, err := storage.For(folder)
	if err != nil {
		return nil, "", failure.Invalid(err)
	}
	return store, storage.Join(k.owner.Channels(folder), "a"+strconv.FormatUint(attempt, 10)+"."+name), nil
}

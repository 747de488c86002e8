package plan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/storage"
)

// A job's folders on shared storage lie where other users may write, too. A user who can change
// their content decides what the job computes. So the submitter makes them, under names that nobody
// can foresee. Each process that uses a folder first checks its owner. A store that does not report
// owners (storage.Guarded) is trusted.

// othersWrite is the permission bit that lets everybody change a folder's content.
const othersWrite = 0o002

// MakeFolder makes one of a job's folders and returns its owner, or "" if the store does not report
// it. If the folder exists, the error matches fs.ErrExist: another user made it.
func MakeFolder(ctx context.Context, folder string) (owner string, err error) {
	store, err := storage.For(folder)
	if err != nil {
		return "", err
	}
	guarded, ok := store.(storage.Guarded)
	if !ok {
		return "", store.Mkdir(ctx, folder)
	}
	if err := guarded.MkdirGuarded(ctx, folder); err != nil {
		return "", err
	}
	a, err := guarded.Access(ctx, folder)
	if err == nil {
		err = checkAccess(folder, a, nil)
	}
	return a.Owner, err
}

// CheckStore refuses a folder for channel files in which everybody may replace a job's folder by
// another.
func CheckStore(ctx context.Context, folder string) error {
	store, err := storage.For(folder)
	if err != nil {
		return err
	}
	guarded, ok := store.(storage.Guarded)
	if !ok {
		return nil
	}
	a, err := guarded.Access(ctx, folder+"/.") // the target, if it is a link
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the folder that is to keep the channels must exist: make it first", err)
	}
	if err == nil && a.Mode&othersWrite != 0 && a.Mode&fs.ModeSticky == 0 {
		err = untrusted(folder, fmt.Sprintf("everybody may rename and remove what lies in it (mode %#o)", a.Mode.Perm()), "use chmod +t, or chmod o-w")
	}
	return err
}

// CheckFolder refuses one of a job's folders if another user may change its content. The owners are
// those that the submitter found; if there are none, any owner is accepted. If the folder does not
// exist, the error matches fs.ErrNotExist.
func CheckFolder(ctx context.Context, folder string, owners []string) error {
	store, err := storage.For(folder)
	if err != nil {
		return err
	}
	guarded, ok := store.(storage.Guarded)
	if !ok {
		return nil
	}
	a, err := guarded.Access(ctx, folder)
	if err != nil {
		return err
	}
	return checkAccess(folder, a, owners)
}

func checkAccess(folder string, a storage.Access, owners []string) error {
	switch {
	case !a.Folder:
		return untrusted(folder, "it is no folder, but a link or a file", remedy)
	case a.Mode&othersWrite != 0:
		return untrusted(folder, fmt.Sprintf("everybody may change what lies in it (mode %#o)", a.Mode.Perm()), remedy)
	case len(owners) > 0 && !a.Own && a.Owner != "" && !slices.Contains(owners, a.Owner):
		return untrusted(folder, fmt.Sprintf("it belongs to %s, and the submitter's belongs to %s", a.Owner, strings.Join(owners, " or ")), remedy)
	}
	return nil
}

const remedy = "somebody put it in place of the submitter's: look who may write in the folder above it, and submit the job again"

// untrusted is a permanent error: it matches fs.ErrPermission.
func untrusted(folder, why, remedy string) error {
	return fmt.Errorf("the folder %s is not used: %s; %s: %w", folder, why, remedy, fs.ErrPermission)
}

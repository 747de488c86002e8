package minihdfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	folderPrefix = "hamadryad-hdfs-"
	lockName     = "lock"
)

// temporaryFolder makes a folder that belongs to this process while it holds the lock in it. It
// removes the folders of processes that have died.
func temporaryFolder() (folder string, unlock func(), err error) {
	sweep()
	if folder, err = os.MkdirTemp("", folderPrefix); err != nil {
		return "", nil, err
	}
	f, err := os.OpenFile(filepath.Join(folder, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(folder))
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return "", nil, errors.Join(err, f.Close(), os.RemoveAll(folder))
	}
	// Only a lock file with content has been locked: sweep skips the others.
	if _, err := fmt.Fprintln(f, os.Getpid()); err != nil {
		return "", nil, errors.Join(err, f.Close(), os.RemoveAll(folder))
	}
	return folder, func() { f.Close() }, nil
}

// sweep is best effort: the next start retries what can't be removed now.
func sweep() {
	locks, _ := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*", lockName))
	for _, path := range locks {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if info, err := f.Stat(); err == nil && info.Size() > 0 && unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
		_ = f.Close()
	}
}

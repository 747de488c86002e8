// Package safepath opens and removes files that other users made below a folder of the caller. It
// follows no link, stays in one file system, and never blocks on the other end of a pipe.
//
//	f, err := safepath.Open("/data/store", "job-1/a2/o0", 1000)
//	err = safepath.RemoveAll("/data/store", "job-1/a2")
//
// Only the owner of the folder and root can change the folder itself and those above it, so its
// path is trusted. It needs Linux 5.6 or newer (openat2).
package safepath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrForeign is matched by errors about files that their owner may not have others read: a link, a
// pipe, a device, a file of another user, or one with a second name elsewhere.
var ErrForeign = errors.New("this is no plain file of its owner")

// resolve is how names are followed: beneath the folder, through no link of any kind.
const resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// openAt opens a name below a folder that is open.
func openAt(folder int, name string, flags uint64) (int, error) {
	for {
		fd, err := unix.Openat2(folder, name, &unix.OpenHow{Flags: flags | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: resolve})
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) { // a rename nearby: retry
			return fd, err
		}
	}
}

// openFolder opens the folder itself.
func openFolder(folder string) (int, error) {
	fd, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: folder, Err: err}
	}
	return fd, nil
}

// Open opens a file below a folder for reading. It must be a plain file of the owner, given by id,
// with no other name. The error matches fs.ErrNotExist if there is nothing, and ErrForeign if there
// is something else.
func Open(folder, name string, owner int) (*os.File, error) {
	path := filepath.Join(folder, name)
	dir, err := openFolder(folder)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	// Without O_NONBLOCK a pipe would wait for a writer.
	fd, err := openAt(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EXDEV):
		return nil, fmt.Errorf("%s: %w: a link lies there, or on the way, or another file system: %w", path, ErrForeign, err)
	case errors.Is(err, unix.ENXIO): // a socket
		return nil, fmt.Errorf("%s: %w: %w", path, ErrForeign, err)
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if err := plain(fd, owner); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// plain checks the opened file, and makes its reads wait for the disk as any file's.
func plain(fd, owner int) error {
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	switch {
	case info.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("%w: it has the mode %o", ErrForeign, info.Mode)
	case int(info.Uid) != owner:
		return fmt.Errorf("%w: it is user %d's, and should be user %d's", ErrForeign, info.Uid, owner)
	case info.Nlink != 1:
		return fmt.Errorf("%w: the file has %d names", ErrForeign, info.Nlink)
	}
	return unix.SetNonblock(fd, false)
}

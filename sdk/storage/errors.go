package storage

import (
	"errors"
	"io/fs"
	"syscall"
)

// ErrUnavailable is an error of the store itself: it can't be reached, or lost a
// part of itself together with what was being written there. Nothing is wrong with
// the request, and the same work may succeed later. An attempt that fails with it
// counts as lost.
var ErrUnavailable = errors.New("the storage is not available")

// Further errors that all stores tell in the same way. They are those of the
// operating system, so that a local store need not translate them.
var (
	ErrQuota    error = syscall.EDQUOT       // the folder, or its owner, may not hold more
	ErrReadOnly error = syscall.EROFS        // the store takes no changes
	ErrName     error = syscall.ENAMETOOLONG // the name, or a part of it, is too long for the store
)

// staying are the errors that the same request meets again and again.
var staying = []error{
	fs.ErrExist, fs.ErrNotExist, fs.ErrPermission, fs.ErrInvalid, ErrQuota, ErrReadOnly, ErrName,
	syscall.EINVAL, syscall.ENOTDIR, syscall.EISDIR, syscall.EXDEV, syscall.ELOOP,
}

// Stays reports whether an error of a store is one that the same request meets
// again until a person changes something: a name that is taken or not there, a
// permission, a quota, a store that takes no changes. To try again is no use.
// Others may pass: a store that can't be reached, a disk that is full just now.
func Stays(err error) bool {
	if errors.Is(err, ErrUnavailable) {
		return false
	}
	for _, s := range staying {
		if errors.Is(err, s) {
			return true
		}
	}
	return false
}

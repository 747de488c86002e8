package storage

import (
	"errors"
	"io/fs"
	"syscall"
)

// ErrUnavailable is an error of the store itself: it can't be reached, or lost data that was being
// written. The request is valid, and the same work may succeed later. An attempt that fails with it
// counts as lost.
var ErrUnavailable = errors.New("the storage is not available")

// Further errors that all stores return alike. They are the operating system's, so that a local
// store need not translate them.
var (
	ErrQuota    error = syscall.EDQUOT       // the quota of the folder or its owner is used up
	ErrReadOnly error = syscall.EROFS        // the store is read-only
	ErrName     error = syscall.ENAMETOOLONG // the name, or an element of it, is too long for the store
)

// staying are the errors that the same request meets at every try.
var staying = []error{
	fs.ErrExist, fs.ErrNotExist, fs.ErrPermission, fs.ErrInvalid, ErrQuota, ErrReadOnly, ErrName,
	syscall.EINVAL, syscall.ENOTDIR, syscall.EISDIR, syscall.EXDEV, syscall.ELOOP,
}

// Stays reports whether the same request meets this error until a person changes something: a name
// that is taken or missing, a permission, a quota, a read-only store. A retry is useless. Other
// errors may pass: an unreachable store, a disk that is full just now.
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

// Package storage is the small interface behind local files and HDFS. A Store
// is found by the scheme of a URL; stores register themselves, as database/sql
// drivers do. A path without a scheme is a local file, and so is a file:// URL.
//
//	store, err := storage.For("out/part-0")
//	file, err := store.Create(ctx, "out/part-0")
//	_, err = file.Write(data)
//	err = file.Commit()
package storage

import (
	"context"
	"io"
	"io/fs"
	"time"
)

// Store reads and writes files. Paths are those of URLs of its scheme, whole (with scheme and
// host). All methods honour the context and are safe for concurrent use. Errors match
// fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, ErrQuota, ErrReadOnly, ErrName and ErrUnavailable
// where those fit. Stays reports those that a retry meets again. Package storagetest checks all of
// this.
type Store interface {
	// Open reads length bytes from offset; length < 0 means to the end. If the file is shorter than
	// the range, Read returns io.ErrUnexpectedEOF.
	Open(ctx context.Context, path string, offset, length int64) (io.ReadCloser, error)
	// Create makes a new file. It never replaces an existing file and makes no parent folders.
	// Nothing is visible under path before Commit.
	Create(ctx context.Context, path string) (File, error)
	// Rename moves a file or a folder in one step. It never replaces a file or a folder, not even
	// an empty one. If many callers rename to one name at once, one succeeds; the others get
	// fs.ErrExist and their sources stay.
	Rename(ctx context.Context, from, to string) error
	// List returns the files that a pattern matches (package glob: * ? [ab] {a,b} ** and \x for the
	// character itself) and all files below the folders that it matches, in order of path, each
	// once. Names that start with . or _ are left out unless the pattern spells that first
	// character. A path that exists as it is written is that path; it is an error if it also
	// matches others as a pattern. A malformed pattern is an error too. No match is fs.ErrNotExist.
	List(ctx context.Context, pattern string) ([]Info, error)
	// Stat describes one file or folder.
	Stat(ctx context.Context, path string) (Info, error)
	// Mkdir makes one folder; its parent must exist. An existing one is fs.ErrExist.
	Mkdir(ctx context.Context, path string) error
	// Delete removes a file, or a folder with all in it. A missing path is no error.
	Delete(ctx context.Context, path string) error
	// Locations returns where the bytes of a range lie, in order of offset; nil if the store does
	// not know.
	Locations(ctx context.Context, path string, offset, length int64) ([]Block, error)
}

// LateSyncer is a Store that can make many renames durable at once, where each one alone costs a
// wait for the disk. Publishing many files uses it; other stores get Rename.
type LateSyncer interface {
	Store
	// RenameSoon is Rename without durability: a power failure may undo it until SyncFolder is
	// called for the folders of both names.
	RenameSoon(ctx context.Context, from, to string) error
	// SyncFolder makes renames into and out of a folder durable.
	SyncFolder(ctx context.Context, folder string) error
}

// Guarded is a Store that reports write permissions of folders, and makes folders in which other
// users can change nothing. In any other Store, folders are used as they are.
type Guarded interface {
	Store
	// MkdirGuarded is Mkdir regardless of the umask: only the folder's owner and group can change
	// what lies in it.
	MkdirGuarded(ctx context.Context, path string) error
	// Access reports which users may change what lies in a folder. If the path's last element is a
	// symbolic link, it is not followed.
	Access(ctx context.Context, path string) (Access, error)
}

// Access describes which users may change what lies in a folder.
type Access struct {
	Folder bool   // the path is a folder, not a file or a link
	Owner  string // equal names are the same user on all machines of the store
	Own    bool   // the caller is the owner
	// Mode holds the permissions, and fs.ModeSticky if only the owner of an entry may remove or
	// rename it.
	Mode fs.FileMode
}

// File is a file being written. One goroutine at a time.
type File interface {
	io.Writer
	// Commit makes the file visible and durable under its path, and ends the File.
	Commit() error
	// Abort discards what was written. After Commit it does nothing.
	Abort() error
}

// Info describes a file.
type Info struct {
	Path    string
	Size    int64 // bytes
	Folder  bool
	Changed time.Time
	// Version changes with the content: a reader that planned on one version refuses another.
	Version string
}

// Block is a range of a file and the hosts that hold it.
type Block struct {
	Offset, Length int64
	Hosts          []string
	Racks          []string // Racks[i] is the rack of Hosts[i]; "" when unknown
}

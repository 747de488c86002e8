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

// Store reads and writes files. Paths are those of URLs of its scheme, whole
// (with scheme and host). All methods honour the context and are safe for
// concurrent use. Errors match fs.ErrNotExist, fs.ErrExist, fs.ErrPermission,
// ErrQuota, ErrReadOnly, ErrName and ErrUnavailable where those fit; Stays tells
// those that another try meets again. Package storagetest checks all of this.
type Store interface {
	// Open reads length bytes from offset; length < 0 means to the end. A file
	// shorter than the range is io.ErrUnexpectedEOF from Read.
	Open(ctx context.Context, path string, offset, length int64) (io.ReadCloser, error)
	// Create makes a new file. It never replaces one that exists and makes no
	// parent folders. Nothing is visible under path before Commit.
	Create(ctx context.Context, path string) (File, error)
	// Rename moves a file or a folder in one step. It never replaces a file or a
	// folder, not even an empty one, and not when many rename to one name at once:
	// one of them wins, the others get fs.ErrExist and keep what they have.
	Rename(ctx context.Context, from, to string) error
	// List returns the files that match a pattern (package glob: * ? [ab] {a,b} **
	// and \x for the character itself) and all files below the folders that match it,
	// in order of path, each once. Names that start with . or _ are left out unless
	// the pattern spells that first character. A path that exists as it is written is
	// that path; it is an error when it matches others too, as a pattern. So is a
	// pattern that is not understood. No match is fs.ErrNotExist.
	List(ctx context.Context, pattern string) ([]Info, error)
	// Stat describes one file or folder.
	Stat(ctx context.Context, path string) (Info, error)
	// Mkdir makes one folder; its parent must exist. An existing one is fs.ErrExist.
	Mkdir(ctx context.Context, path string) error
	// Delete removes a file, or a folder with all in it. What is not there is no error.
	Delete(ctx context.Context, path string) error
	// Locations tells where the bytes of a range lie, in order of offset. Nil when
	// the store does not know.
	Locations(ctx context.Context, path string, offset, length int64) ([]Block, error)
}

// LateSyncer is a Store whose renames can be made durable together, where one at a
// time costs a wait for the disk. Publishing many parts uses it; without it, Rename.
type LateSyncer interface {
	Store
	// RenameSoon is Rename, but for this: until SyncFolder was called for the folders of
	// both names, a power failure may undo it.
	RenameSoon(ctx context.Context, from, to string) error
	// SyncFolder makes durable what was renamed into a folder or out of it.
	SyncFolder(ctx context.Context, folder string) error
}

// Guarded is a Store that tells who may change what lies in a folder, and makes folders
// in which others may change nothing. In any other Store, folders are taken as they are.
type Guarded interface {
	Store
	// MkdirGuarded is Mkdir, but whatever the umask: nobody may change what lies in the
	// folder but its owner and its group.
	MkdirGuarded(ctx context.Context, path string) error
	// Access tells who may change what lies in a folder. It does not follow a symbolic
	// link that the path's last name is.
	Access(ctx context.Context, path string) (Access, error)
}

// Access says who may change what lies in a folder.
type Access struct {
	Folder bool   // it is a folder, and neither a file nor a link
	Owner  string // equal names are the same user, on all machines of the store
	Own    bool   // the owner is who asks
	// Mode has the permissions, and fs.ModeSticky where only the owner of an entry may
	// remove or rename it.
	Mode fs.FileMode
}

// File is a file being written. One goroutine at a time.
type File interface {
	io.Writer
	// Commit makes the file visible and durable under its path; the File is done.
	Commit() error
	// Abort drops what was written. After Commit it does nothing.
	Abort() error
}

// Info describes a file.
type Info struct {
	Path    string
	Size    int64 // bytes
	Folder  bool
	Changed time.Time
	// Version changes when the content does: a reader that planned on one version
	// refuses another.
	Version string
}

// Block is a range of a file and the hosts that hold it.
type Block struct {
	Offset, Length int64
	Hosts          []string
	Racks          []string // Racks[i] is the rack of Hosts[i]; "" when unknown
}

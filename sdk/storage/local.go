package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// Local is the store of this machine's files. The zero value is ready to use.
type Local struct {
	// NoSync lets the system choose when files and names reach the disk. That is faster, but a
	// power failure may undo a commit. Off by default.
	NoSync bool
}

var (
	_ LateSyncer = Local{}
	_ Guarded    = Local{}
)

// localPath cuts file:// off.
func localPath(path string) string {
	_, rest := split(path)
	return rest
}

// Open implements Store.
func (Local) Open(ctx context.Context, path string, offset, length int64) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := os.Open(localPath(path))
	if err != nil {
		return nil, explain(err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "open", Path: path, Err: unix.EISDIR}
	}
	if err == nil && offset > 0 {
		_, err = f.Seek(offset, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(explain(err), f.Close())
	}
	expected := length
	if length < 0 {
		expected = info.Size() - offset
	}
	return &localReader{ctx: ctx, f: f, left: length, expected: expected, past: offset > info.Size()}, nil
}

// localReader reads a range, and distinguishes a truncated file from one that ended.
type localReader struct {
	ctx      context.Context
	f        *os.File
	left     int64 // bytes of the range still to come; negative: to the end
	expected int64 // bytes that the file must still have
	past     bool  // the range began after the end
}

func (r *localReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if r.left == 0 {
		return 0, io.EOF
	}
	if r.left > 0 && int64(len(p)) > r.left {
		p = p[:r.left]
	}
	n, err := r.f.Read(p)
	r.expected -= int64(n)
	if r.left > 0 {
		r.left -= int64(n)
	}
	if errors.Is(err, io.EOF) && (r.expected > 0 || r.past) {
		return n, &fs.PathError{Op: "read", Path: r.f.Name(), Err: fmt.Errorf("the file is shorter than it was: %w", io.ErrUnexpectedEOF)}
	}
	return n, err
}

func (r *localReader) Close() error { return r.f.Close() }

// createTries bounds the search for a free temporary name. One try is enough
// unless 80 random bits repeat.
const createTries = 10

// Create implements Store. The file is written under a hidden name beside its own.
func (l Local) Create(ctx context.Context, path string) (File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	name := localPath(path)
	if _, err := os.Lstat(name); err == nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	for range createTries {
		temporary := filepath.Join(filepath.Dir(name), ".creating-"+rand.Text()[:16])
		f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("create %s: %w", path, explain(err))
		}
		return &localFile{ctx: ctx, f: f, name: name, sync: !l.NoSync}, nil
	}
	return nil, &fs.PathError{Op: "create", Path: path, Err: errors.New("no free temporary name")}
}

type localFile struct {
	ctx  context.Context
	f    *os.File
	name string
	sync bool
	done bool
	err  error // of a write: the file is incomplete
}

func (f *localFile) Write(p []byte) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	if f.done {
		return 0, &fs.PathError{Op: "write", Path: f.name, Err: fs.ErrClosed}
	}
	n, err := f.f.Write(p)
	if err != nil {
		f.err = fmt.Errorf("write %s: %w", f.name, explain(err))
		return n, f.err
	}
	return n, nil
}

// Commit implements File. If it fails, it removes the temporary file.
func (f *localFile) Commit() error {
	if f.done {
		return &fs.PathError{Op: "commit", Path: f.name, Err: fs.ErrClosed}
	}
	err := f.err
	if err == nil {
		err = f.ctx.Err()
	}
	if err == nil && f.sync {
		err = explain(f.f.Sync())
	}
	if err != nil {
		return errors.Join(err, f.Abort())
	}
	f.done = true
	temporary := f.f.Name()
	if err = f.f.Close(); err == nil {
		err = renameNew(temporary, f.name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("commit %s: %w", f.name, explain(err)), os.Remove(temporary))
	}
	if f.sync {
		return syncFolder(filepath.Dir(f.name))
	}
	return nil
}

// Abort implements File.
func (f *localFile) Abort() error {
	if f.done {
		return nil
	}
	f.done = true
	return errors.Join(f.f.Close(), os.Remove(f.f.Name()))
}

// Rename implements Store.
func (l Local) Rename(ctx context.Context, from, to string) error {
	if err := l.RenameSoon(ctx, from, to); err != nil {
		return err
	}
	into, outOf := filepath.Dir(localPath(to)), filepath.Dir(localPath(from))
	if err := l.SyncFolder(ctx, into); err != nil || into == outOf {
		return err
	}
	return l.SyncFolder(ctx, outOf)
}

// RenameSoon implements LateSyncer.
func (Local) RenameSoon(ctx context.Context, from, to string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := renameNew(localPath(from), localPath(to)); err != nil {
		return explain(err)
	}
	return nil
}

// SyncFolder implements LateSyncer.
func (l Local) SyncFolder(_ context.Context, folder string) error {
	if l.NoSync {
		return nil
	}
	return syncFolder(localPath(folder))
}

// renameNew renames and never replaces. On file systems without such a rename it uses the nearest
// atomic step. For a file that is a hard link. For a folder, an empty folder reserves the name and
// is then replaced.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if err == nil {
		return nil
	}
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return linkNew(from, to)
}

// linkNew is renameNew where the system can't rename without replacing.
func linkNew(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		if err := os.Link(from, to); err != nil && !sameFile(info, to) {
			return err
		}
		return os.Remove(from) // an earlier try may have been cut off here
	}
	if err := os.Mkdir(to, 0o777); err != nil {
		return err
	}
	if err := unix.Rename(from, to); err != nil {
		return errors.Join(&os.LinkError{Op: "rename", Old: from, New: to, Err: err}, os.Remove(to))
	}
	return nil
}

func sameFile(a fs.FileInfo, path string) bool {
	b, err := os.Lstat(path)
	return err == nil && os.SameFile(a, b)
}

func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return explain(err)
	}
	return errors.Join(f.Sync(), f.Close())
}

// explain adds a remedy to errors whose cause lies outside the program.
func explain(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("%w: free space there or write elsewhere", err)
	case errors.Is(err, unix.EFBIG):
		return fmt.Errorf("%w: raise the file size limit (ulimit -f) or write smaller files", err)
	case errors.Is(err, unix.EXDEV):
		return fmt.Errorf("%w: both names must lie on one file system", err)
	}
	return err
}

// hostname is queried once: it is the place of all local files.
var hostname = sync.OnceValues(os.Hostname)

// Locations implements Store: all of a local file is on this host.
func (l Local) Locations(ctx context.Context, path string, offset, length int64) ([]Block, error) {
	info, err := l.Stat(ctx, path)
	if err != nil {
		return nil, err
	}
	host, err := hostname()
	if err != nil {
		return nil, err
	}
	rest := max(info.Size-offset, 0)
	if length < 0 || length > rest {
		length = rest
	}
	return []Block{{Offset: offset, Length: length, Hosts: []string{host}, Racks: []string{""}}}, nil
}

package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/hamadryad/hamadryad/sdk/storage/glob"
)

// Stat implements Store. It follows symbolic links.
func (Local) Stat(ctx context.Context, path string) (Info, error) {
	if err := ctx.Err(); err != nil {
		return Info{}, err
	}
	info, err := os.Stat(localPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		if to, linkErr := os.Readlink(localPath(path)); linkErr == nil {
			return Info{}, &danglingError{path, to}
		}
	}
	if err != nil {
		return Info{}, err
	}
	return describe(path, info), nil
}

// danglingError says that a dangling symbolic link has the name. It does not match fs.ErrNotExist:
// nothing can be created or published under that name.
type danglingError struct{ path, to string }

func (e *danglingError) Error() string {
	return fmt.Sprintf("%s is a symbolic link to %s, which does not exist: remove the link, or make what it points to", e.path, e.to)
}

// describe makes an Info. The version of a local file is its size, its modification time in
// nanoseconds and its inode. A rewrite changes one of the first two; a replacement changes the
// inode.
func describe(path string, info fs.FileInfo) Info {
	var inode uint64
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = st.Ino
	}
	return Info{
		Path: path, Size: info.Size(), Folder: info.IsDir(), Changed: info.ModTime(),
		Version: fmt.Sprintf("%x-%x-%x", info.Size(), info.ModTime().UnixNano(), inode),
	}
}

// Mkdir implements Store.
func (l Local) Mkdir(ctx context.Context, path string) error {
	return l.mkdir(ctx, path, 0o777)
}

// RemoveEmpty removes an empty folder, never a link or a file.
func (Local) RemoveEmpty(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := syscall.Rmdir(filepath.Clean(localPath(path))); err != nil {
		return &fs.PathError{Op: "remove", Path: path, Err: err}
	}
	return nil
}

// MkdirGuarded implements Guarded.
func (l Local) MkdirGuarded(ctx context.Context, path string) error {
	return l.mkdir(ctx, path, 0o775)
}

// Access implements Guarded.
func (Local) Access(ctx context.Context, path string) (Access, error) {
	if err := ctx.Err(); err != nil {
		return Access{}, err
	}
	info, err := os.Lstat(strings.TrimRight(localPath(path), "/"))
	if err != nil {
		return Access{}, err
	}
	a := Access{Folder: info.IsDir(), Mode: info.Mode() & (fs.ModePerm | fs.ModeSticky)}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		a.Owner, a.Own = "uid:"+strconv.FormatUint(uint64(st.Uid), 10), int(st.Uid) == os.Geteuid()
	}
	return a, nil
}

func (l Local) mkdir(ctx context.Context, path string, mode fs.FileMode) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name := localPath(path)
	if err := os.Mkdir(name, mode); err != nil {
		return explain(err)
	}
	if l.NoSync {
		return nil
	}
	return syncFolder(filepath.Dir(filepath.Clean(name)))
}

// Delete implements Store. A cancelled context stops it between the entries of
// the folder.
func (Local) Delete(ctx context.Context, path string) error {
	name := filepath.Clean(localPath(path))
	if name == "/" || name == "." {
		return &fs.PathError{Op: "delete", Path: path, Err: errors.New("that is no folder of a job")}
	}
	if info, err := os.Lstat(name); err == nil && info.IsDir() {
		entries, err := os.ReadDir(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := os.RemoveAll(filepath.Join(name, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return os.RemoveAll(name)
}

// List implements Store. Symbolic links to files and folders are followed. A link to a folder that
// contains it is an error, since the listing would never end. Devices, sockets and pipes are errors
// too: they are no files.
func (l Local) List(ctx context.Context, pattern string) ([]Info, error) {
	name := localPath(pattern)
	if name == "" {
		return nil, &fs.PathError{Op: "list", Path: pattern, Err: errors.New("the pattern is empty")}
	}
	roots, err := localRoots(ctx, name)
	if err != nil {
		return nil, err
	}
	prefix := pattern[:len(pattern)-len(name)] // file:// or nothing
	var found []Info
	t := &treeWalk{}
	for _, root := range roots {
		files, err := t.below(ctx, root)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			f.Path = prefix + f.Path
			found = append(found, f)
		}
	}
	return SortInfos(found), nil
}

// localRoots returns the paths that a pattern matches, or the path itself if it exists.
func localRoots(ctx context.Context, pattern string) ([]string, error) {
	_, missing := os.Stat(pattern)
	if missing == nil {
		if err := NotAmbiguous(ctx, localFiles{}, pattern); err != nil {
			return nil, err
		}
		return []string{filepath.Clean(pattern)}, nil
	}
	if !glob.Special(pattern) {
		return nil, missing
	}
	found, err := glob.Match(ctx, localFiles{}, pattern)
	if err != nil {
		return nil, &fs.PathError{Op: "list", Path: pattern, Err: err}
	}
	if len(found) == 0 {
		return nil, &fs.PathError{Op: "list", Path: pattern, Err: fs.ErrNotExist}
	}
	roots := make([]string, len(found))
	for i, e := range found {
		roots[i] = e.Path
	}
	return roots, nil
}

// localFiles is this machine's tree of files. It reports only that entries exist; any other error
// shows when the entry is read.
type localFiles struct{}

// Look implements glob.Tree.
func (localFiles) Look(_ context.Context, path string) (*glob.Entry, error) {
	info, err := os.Stat(cmp.Or(path, "."))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG) {
		return nil, nil
	}
	e := &glob.Entry{Path: cmp.Or(path, "."), Info: true}
	if err == nil {
		e.Folder, e.File = info.IsDir(), info.Mode().IsRegular()
	}
	return e, nil
}

// Read implements glob.Tree.
func (localFiles) Read(_ context.Context, folder string) ([]glob.Entry, error) {
	entries, err := os.ReadDir(cmp.Or(folder, "."))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := make([]glob.Entry, len(entries))
	for i, e := range entries {
		all[i] = glob.Entry{Path: filepath.Join(folder, e.Name()), Folder: e.IsDir(), File: e.Type().IsRegular(), Info: true}
		if e.Type()&fs.ModeSymlink != 0 && !glob.Hidden(e.Name()) {
			if all[i].Folder, err = leadsToFolder(all[i].Path); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// linkedFoldersMax bounds the folders of one listing that are reached by symbolic links: a few
// links between folders could make endlessly many paths.
const linkedFoldersMax = 10_000

// treeWalk lists the content of folders.
type treeWalk struct{ linked int }

// below returns root itself if it is a file, or all visible files below a folder.
func (t *treeWalk) below(ctx context.Context, root string) ([]Info, error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, linkError(root, err)
	}
	if info.Mode().IsRegular() {
		return []Info{describe(root, info)}, nil
	}
	if !info.IsDir() {
		return nil, irregular(root, info)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	var found []Info
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if glob.Hidden(e.Name()) {
			continue
		}
		name := filepath.Join(root, e.Name())
		if e.Type()&fs.ModeSymlink != 0 {
			if err := t.follow(name); err != nil {
				return nil, err
			}
		}
		files, err := t.below(ctx, name)
		if err != nil {
			return nil, err
		}
		found = append(found, files...)
	}
	return found, nil
}

// follow counts a symbolic link to a folder, and refuses a link that forms a cycle.
func (t *treeWalk) follow(link string) error {
	folder, err := leadsToFolder(link)
	if err != nil || !folder {
		return err
	}
	if t.linked++; t.linked > linkedFoldersMax {
		return &fs.PathError{Op: "list", Path: link, Err: fmt.Errorf("more than %d folders are reached by symbolic links: name the folders to read", linkedFoldersMax)}
	}
	return nil
}

// leadsToFolder reports whether a symbolic link leads to a folder. A link to a folder that contains
// it is an error.
func leadsToFolder(link string) (bool, error) {
	to, err := os.Stat(link)
	if err != nil || !to.IsDir() {
		return false, nil //nolint:nilerr // what it is is met when it is read
	}
	path, err := filepath.Abs(link)
	if err != nil {
		return false, err
	}
	for path != "/" {
		path = filepath.Dir(path)
		if in, err := os.Stat(path); err == nil && os.SameFile(in, to) {
			return false, &fs.PathError{Op: "list", Path: link, Err: fmt.Errorf("it is a symbolic link to %s, which it lies in, so that it would never end: remove it or name the files to read", path)}
		}
	}
	return true, nil
}

// irregular is the error for an entry that is neither a file nor a folder.
func irregular(name string, info fs.FileInfo) error {
	kind := "no regular file"
	switch mode := info.Mode(); {
	case mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	}
	return &fs.PathError{Op: "list", Path: name, Err: fmt.Errorf("it is %s (%s), and only files can be read: remove it or name the files to read", kind, info.Mode().Type())}
}

// linkError explains the error of a dangling symbolic link.
func linkError(name string, err error) error {
	if target, linkErr := os.Readlink(name); linkErr == nil {
		return fmt.Errorf("%w: it is a symbolic link to %s: remove it or name the files to read", err, target)
	}
	return err
}

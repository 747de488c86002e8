package safepath

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	// depthMax is how many folders of a tree are open at once during a removal. Deeper folders are
	// moved up first.
	depthMax = 32
	// idleMax is how often a folder may be found not empty after all its entries were removed:
	// another process adds to it.
	idleMax = 100
	// namesAtOnce is how many names of a folder are read at once.
	namesAtOnce = 1024
)

// RemoveAll removes a name below a folder with all in it. It removes links and not their targets,
// and nothing of another file system that is mounted there. A name that does not exist is no error.
func RemoveAll(folder, name string) error {
	root, err := openFolder(folder)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	dir := root
	if above := filepath.Dir(name); above != "." {
		if dir, err = openAt(root, above, unix.O_PATH|unix.O_DIRECTORY); err != nil {
			if errors.Is(err, unix.ENOENT) {
				return nil
			}
			return &fs.PathError{Op: "remove", Path: filepath.Join(folder, name), Err: err}
		}
		defer unix.Close(dir)
	}
	r := &remover{top: -1}
	if err := r.remove(dir, filepath.Base(name), 0); err != nil {
		return fmt.Errorf("remove %s: %w", filepath.Join(folder, name), err)
	}
	return nil
}

// remover is one removal.
type remover struct {
	top   int // the folder to remove; deep folders are moved into it
	moved int // number of folders moved
}

// remove removes a name of an open folder.
func (r *remover) remove(dir int, name string, depth int) error {
	for try := 0; ; try++ {
		err := unix.Unlinkat(dir, name, 0)
		switch {
		case err == nil, errors.Is(err, unix.ENOENT):
			return nil
		case !errors.Is(err, unix.EISDIR):
			return &fs.PathError{Op: "unlinkat", Path: name, Err: err}
		}
		if depth == depthMax {
			return r.moveUp(dir, name)
		}
		err = r.empty(dir, name, depth)
		if err == nil {
			err = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
		}
		again := errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) // it was filled or replaced meanwhile
		switch {
		case err == nil, errors.Is(err, unix.ENOENT):
			return nil
		case !again || try == idleMax:
			return &fs.PathError{Op: "unlinkat", Path: name, Err: err}
		}
	}
}

// moveUp moves a folder to the top of the tree, under a free name.
func (r *remover) moveUp(dir int, name string) error {
	for {
		r.moved++
		err := unix.Renameat2(dir, name, r.top, ".moved-"+strconv.Itoa(r.moved), unix.RENAME_NOREPLACE)
		switch {
		case errors.Is(err, unix.EEXIST):
		case err == nil, errors.Is(err, unix.ENOENT):
			return nil
		default:
			return &fs.PathError{Op: "renameat", Path: name, Err: err}
		}
	}
}

// empty removes all that is in a folder.
func (r *remover) empty(dir int, name string, depth int) error {
	fd, err := openAt(dir, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if depth == 0 {
		r.top = fd
	}
	for {
		moved := r.moved
		if err := r.pass(f, fd, depth); err != nil {
			return err
		}
		if depth > 0 || r.moved == moved {
			return nil
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
}

// pass removes each entry of a folder.
func (r *remover) pass(f *os.File, fd, depth int) error {
	for {
		names, err := f.Readdirnames(namesAtOnce)
		for _, n := range names {
			if err := r.remove(fd, n, depth+1); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || err == nil && len(names) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

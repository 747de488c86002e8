package policy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// DirBytesMax is how long the path of Options.Dir may be: a socket's path has at
// most 107 bytes, and folder and file names of go-plugin's stand in it too.
const DirBytesMax = 50

const (
	socketDirPrefix = "plugin-"
	socketDirLock   = "lock"
	// socketDirTries bounds the races lost against another host's sweep.
	socketDirTries = 8
)

// socketDir is the folder of one plug-in's sockets. Its host holds a lock on a file in it as long
// as it lives. By the lock, a sweep distinguishes it from the leftovers of a dead host.
type socketDir struct {
	path string
	lock *os.File
	temp string // the folder around it, if that is temporary too
}

// newSocketDir sweeps parent and makes a folder in it.
func newSocketDir(parent string) (*socketDir, error) {
	temp := ""
	if parent == "" {
		var err error
		if temp, err = os.MkdirTemp("", "hamadryad-"); err != nil {
			return nil, fmt.Errorf("make a folder for sockets: %w", err)
		}
		parent = temp
	}
	d, err := makeSocketDir(parent)
	if err != nil {
		if temp != "" {
			err = errors.Join(err, os.RemoveAll(temp))
		}
		return nil, err
	}
	d.temp = temp
	return d, nil
}

func makeSocketDir(parent string) (*socketDir, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, err
	}
	if len(parent) > DirBytesMax {
		return nil, fmt.Errorf("the folder for sockets %s has a path of %d bytes; at most %d leave room for a socket's name: choose a shorter one", parent, len(parent), DirBytesMax)
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for sockets: %w", err)
	}
	if err := checkOwn(parent); err != nil {
		return nil, err
	}
	if err := sweep(parent); err != nil {
		return nil, err
	}
	for range socketDirTries {
		path, err := os.MkdirTemp(parent, socketDirPrefix)
		if err != nil {
			return nil, fmt.Errorf("make a folder for sockets: %w", err)
		}
		lock, err := lockIn(path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock a folder for sockets: %w", err), os.RemoveAll(path))
		}
		if lock != nil {
			return &socketDir{path: path, lock: lock}, nil
		}
		// A sweep removed the folder as a dead host's before it was locked.
	}
	return nil, fmt.Errorf("make a folder for sockets in %s: another host swept it away %d times", parent, socketDirTries)
}

// checkOwn refuses a folder in which others could replace a plug-in's sockets: the name of one in
// /tmp can be guessed, and made first.
func checkOwn(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("look at the folder for sockets: %w", err)
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("the folder for sockets %s is a link or no folder (%v): remove it", path, info.Mode())
	case !ok || int64(s.Uid) != int64(os.Geteuid()):
		return fmt.Errorf("the folder for sockets %s belongs to user %d, who could put other programs in place of plug-ins: have it removed, or set TMPDIR to a folder of your own", path, s.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others may write to the folder for sockets %s (mode %#o), and put other programs in place of plug-ins: chmod 700 it", path, info.Mode().Perm())
	}
	return nil
}

// lockIn takes the lock of a folder. It returns nil when another process has it, or the folder was
// removed meanwhile.
func lockIn(path string) (*os.File, error) {
	name := filepath.Join(path, socketDirLock)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		var mine, there os.FileInfo
		if mine, err = f.Stat(); err == nil {
			if there, err = os.Stat(name); err == nil && os.SameFile(mine, there) {
				return f, nil
			}
		}
	}
	f.Close()
	if err == nil || errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return nil, err
}

// sweep removes the folders of hosts that died.
func sweep(parent string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return fmt.Errorf("sweep the folder for sockets: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), socketDirPrefix) {
			continue
		}
		path := filepath.Join(parent, e.Name())
		lock, err := lockIn(path)
		if err != nil {
			return fmt.Errorf("sweep the folder for sockets: %w", err)
		}
		if lock == nil {
			continue // its host lives
		}
		err = removeShared(path)
		lock.Close()
		if err != nil {
			return fmt.Errorf("sweep the folder for sockets: %w", err)
		}
	}
	return nil
}

// remove removes the folder with all sockets in it.
func (d *socketDir) remove() error {
	err := removeShared(d.path)
	if d.temp != "" {
		err = os.RemoveAll(d.temp)
	}
	return errors.Join(err, d.lock.Close())
}

// removeShared removes a folder that another host may sweep at the same time. That host may have made
// a lock in it since its own was removed. Then the folder is that host's to remove, or a later sweep's.
func removeShared(path string) error {
	err := os.RemoveAll(path)
	if errors.Is(err, unix.ENOTEMPTY) {
		return nil
	}
	return err
}

// Package freezer has processes stand still by cgroup2: each worker in a group of its
// own, below the group that the launcher is in.
//
//	f, err := freezer.Open(identity)  // an error says why it can't be had
//	defer f.Close()
//	g, err := f.NewGroup()
//	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: g.FD()}
//	err = cmd.Start(); g.Started()
//	err = g.Set(true)                 // all stand still, and what they start would too
//	err = g.Kill(); g.Remove()
//
// No privilege is asked for: where the launcher may not write, there is no freezer.
package freezer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// prefix is how the names of launchers' groups begin; the identity of the launcher's
// data folder follows.
const prefix = "hamadryad-"

// claimTries bounds how often a group is made again that another launcher, which starts
// at the same moment, has removed for a dead one's.
const claimTries = 10

// Freezer is one launcher's group, in which its workers' are. Its methods are safe for
// concurrent use.
type Freezer struct {
	folder string
	claim  *os.File // locked while the launcher lives
	groups atomic.Uint64
}

// Open makes the launcher's group and looks whether processes can be started in it and
// stopped. It removes what launchers have left that are dead, with all processes in it.
func Open(identity string) (*Freezer, error) {
	mountinfo, err1 := os.ReadFile("/proc/self/mountinfo")
	cgroup, err2 := os.ReadFile("/proc/self/cgroup")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	in, err := places(string(mountinfo), string(cgroup))
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, parent := range in {
		f, err := openIn(parent, identity)
		if err == nil {
			return f, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// openIn makes the launcher's group in a folder.
func openIn(parent, identity string) (*Freezer, error) {
	sweep(parent)
	f := &Freezer{folder: filepath.Join(parent, prefix+identity)}
	err := f.take()
	if err == nil {
		err = f.probe()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// take makes the group and locks it.
func (f *Freezer) take() (err error) {
	for range claimTries {
		if err := os.Mkdir(f.folder, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		f.claim, err = lock(f.folder)
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.EWOULDBLOCK) {
			break
		}
	}
	if err != nil {
		_ = os.Remove(f.folder) // unless it is another's, and in use
	}
	return err
}

// lock locks a launcher's group for as long as the file is open, which is as long as the
// launcher lives, however it ends.
func lock(folder string) (*os.File, error) {
	f, err := os.Open(filepath.Join(folder, eventsFile))
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock group %s: %w", folder, err)
	}
	mine, err1 := f.Stat()
	there, err2 := os.Stat(f.Name())
	if err := errors.Join(err1, err2); err != nil || !os.SameFile(mine, there) {
		f.Close()
		return nil, fmt.Errorf("lock group %s, which was removed meanwhile: %w", folder, os.ErrNotExist)
	}
	return f, nil
}

// probe tries all that suspension takes. A program that does not exist is not found only
// when the kernel has put the new process into the group.
func (f *Freezer) probe() error {
	g, err := f.NewGroup()
	if err != nil {
		return err
	}
	defer g.Remove()
	if err := errors.Join(g.Set(true), g.Set(false)); err != nil {
		return err
	}
	_, err = syscall.ForkExec(filepath.Join(f.folder, "none"), []string{"none"}, &syscall.ProcAttr{
		Sys: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: g.FD()},
	})
	g.Started()
	if !errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("start a process in group %s: %w", g.folder, err)
	}
	return nil
}

// sweep removes the groups of launchers that are dead, as far as this process may.
func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		folder := filepath.Join(parent, e.Name())
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if claim, err := lock(folder); err == nil {
			RemoveAll(folder)
			claim.Close()
		}
	}
}

// Folder is the launcher's group, which RemoveAll takes.
func (f *Freezer) Folder() string { return f.folder }

// Close ends all processes that are left in the launcher's group, and removes it.
func (f *Freezer) Close() {
	if f.claim == nil {
		return
	}
	RemoveAll(f.folder)
	f.claim.Close()
}

// NewGroup makes a group for one worker.
func (f *Freezer) NewGroup() (*Group, error) {
	folder := filepath.Join(f.folder, strconv.FormatUint(f.groups.Add(1), 10))
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	dir, err := os.Open(folder)
	if err != nil {
		_ = os.Remove(folder)
		return nil, err
	}
	return &Group{folder: folder, dir: dir}, nil
}

package cgroup

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

// prefix begins the names of launchers' groups; the identity of the launcher's data folder follows.
const prefix = "hamadryad-"

// claimTries bounds how often a group is made again after another launcher, starting at the same
// moment, removed it as a dead launcher's.
const claimTries = 10

// Parent is one launcher's group, which holds its workers' groups. Its methods are safe for
// concurrent use.
type Parent struct {
	folder  string
	limited bool
	divides bool     // its groups can be bound to processors
	claim   *os.File // locked while the launcher's process lives
	groups  atomic.Uint64
}

// Open makes the launcher's group, without limits, and checks that processes can be started in it
// and frozen. It removes the groups of dead launchers, with all processes in them.
func Open(identity string) (*Parent, error) {
	in, err := ownPlaces()
	if err != nil {
		return nil, err
	}
	return openFirst(in, func(parent string) (*Parent, error) { return openIn(parent, identity, false) })
}

// ownPlaces are the folders of this process's own group.
func ownPlaces() ([]string, error) {
	mountinfo, err1 := os.ReadFile("/proc/self/mountinfo")
	cgroup, err2 := os.ReadFile("/proc/self/cgroup")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return places(string(mountinfo), string(cgroup))
}

// openFirst opens the first of the folders that can be opened.
func openFirst(in []string, open func(parent string) (*Parent, error)) (*Parent, error) {
	var errs []error
	for _, parent := range in {
		p, err := open(parent)
		if err == nil {
			return p, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// openIn makes the launcher's group in a folder.
func openIn(parent, identity string, limited bool) (*Parent, error) {
	sweep(parent)
	p := &Parent{folder: filepath.Join(parent, prefix+identity), limited: limited}
	err := p.claimFolder()
	if err == nil && limited {
		err = writeControl(p.folder, subtreeFile, enabling)
		p.divides = writeControl(p.folder, subtreeFile, "+"+cpuset) == nil
	}
	if err == nil {
		err = p.probe()
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// claimFolder makes the group and locks it.
func (p *Parent) claimFolder() (err error) {
	for range claimTries {
		if err := os.Mkdir(p.folder, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		p.claim, err = lock(p.folder)
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.EWOULDBLOCK) {
			break
		}
	}
	if err != nil {
		_ = os.Remove(p.folder) // fails while another launcher uses it
	}
	return err
}

// lock locks a launcher's group while the file is open. The kernel unlocks it when the launcher's
// process ends, however it ends.
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

// probe tries everything that suspension needs. It starts a program that does not exist: the error
// comes only after the kernel has put the new process into the group.
func (p *Parent) probe() error {
	g, err := p.New(Limits{Memory: probeMemory, Processes: 1, Slots: 1})
	if err != nil {
		return err
	}
	defer g.Remove()
	if err := errors.Join(g.Set(true), g.Set(false)); err != nil {
		return err
	}
	_, err = syscall.ForkExec(filepath.Join(p.folder, "none"), []string{"none"}, &syscall.ProcAttr{
		Sys: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: g.FD()},
	})
	g.Started()
	if !errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("start a process in group %s: %w", g.folder, err)
	}
	return nil
}

// sweep removes the groups of dead launchers, as far as this process may.
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

// Limited reports whether the launcher's groups enforce their limits.
func (p *Parent) Limited() bool { return p.limited }

// Folder is the launcher's group, for RemoveAll.
func (p *Parent) Folder() string { return p.folder }

// Close kills all processes in the launcher's group, and removes the group.
func (p *Parent) Close() {
	if p.claim == nil {
		return
	}
	RemoveAll(p.folder)
	p.claim.Close()
}

// New makes a group for one worker. If limits can't be set, that is an error where the launcher's
// groups have limits, and ignored where they have none.
func (p *Parent) New(l Limits) (*Group, error) {
	folder := filepath.Join(p.folder, strconv.FormatUint(p.groups.Add(1), 10))
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	dir, err := os.Open(folder)
	if err != nil {
		_ = os.Remove(folder)
		return nil, err
	}
	g := &Group{folder: folder, dir: dir, limited: p.limited}
	if err := g.Bound(l); err != nil {
		g.Remove()
		return nil, err
	}
	return g, nil
}

package suspend

import (
	"errors"
	"sync"
	"syscall"

	"github.com/hamadryad/hamadryad/engine/isolate/cgroup"
	"github.com/hamadryad/hamadryad/internal/process/proctree"
)

// Tree is the processes of one worker. A caller that stops or continues it holds its lock from
// reading the wanted state until the processes have changed, so that the manager's last command
// wins. Kill needs no lock.
type Tree struct {
	sync.Mutex
	root    int
	mark    proctree.Mark
	group   *cgroup.Group // nil: it has none
	freezes bool          // the group is frozen as one; else each process is sent signals
}

// Into makes a process that is about to be started the root of the tree.
func (t *Tree) Into(a *syscall.SysProcAttr) {
	if t.group != nil {
		a.UseCgroupFD, a.CgroupFD = true, t.group.FD()
	}
}

// Started notes that the root has started.
func (t *Tree) Started(root int) {
	t.root = root
	if t.group != nil {
		t.group.Started()
	}
}

// Set stops or continues the whole tree. It waits until all processes are stopped.
func (t *Tree) Set(stand bool) error {
	switch {
	case t.freezes:
		return t.group.Set(stand)
	case stand:
		return proctree.Stop(t.root, t.mark)
	default:
		return proctree.Continue(t.root, t.mark)
	}
}

// Widen sets the tree's limits to those of another attempt, but never lowers the memory limit.
// Without limits it does nothing.
func (t *Tree) Widen(l cgroup.Limits) error {
	if t.group == nil {
		return nil
	}
	return t.group.Widen(l)
}

// Use pins the tree to the processors of a list, which is part of the Way's Processors.
func (t *Tree) Use(list string) error { return t.group.Use(list) }

// KeepsTo reports whether the kernel limits the tree's memory to exactly so many bytes.
func (t *Tree) KeepsTo(bytes int64) bool { return t.group != nil && t.group.KeepsTo(bytes) }

// Holds returns how many bytes the tree holds, where KeepsTo is true; false: the kernel does not
// report it.
func (t *Tree) Holds() (int64, bool) {
	if t.group == nil {
		return 0, false
	}
	return t.group.Holds()
}

// Starved reports whether the kernel killed processes of the tree for want of memory, at whose
// limit, and the tree's own limit. It is known until Gone, where there are limits.
func (t *Tree) Starved() (s cgroup.Starvation, most int64) {
	if t.group == nil {
		return cgroup.Unknown, 0
	}
	return t.group.Starved()
}

// Kill ends the whole tree. The root still exists, or has ended and was not waited for.
func (t *Tree) Kill() error {
	if t.group == nil {
		return proctree.Kill(t.root, t.mark)
	}
	return errors.Join(t.group.Kill(), proctree.KillMarked(t.mark))
}

// Gone notes that the root has ended, or was never started, and ends the rest of the tree.
func (t *Tree) Gone() {
	_ = proctree.KillMarked(t.mark) // processes that can't be killed are tried again at the next start
	if t.group != nil {
		t.group.Remove()
	}
}

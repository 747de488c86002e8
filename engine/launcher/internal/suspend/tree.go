package suspend

import (
	"errors"
	"sync"
	"syscall"

	"github.com/hamadryad/hamadryad/engine/isolate/cgroup"
	"github.com/hamadryad/hamadryad/internal/process/proctree"
)

// Tree is the processes of one worker. Whoever stops or continues it holds its lock from
// the look at what is wanted until that is done, so that the last word is carried out
// last. Kill needs no lock.
type Tree struct {
	sync.Mutex
	root    int
	mark    proctree.Mark
	group   *cgroup.Group // nil: it has none
	freezes bool          // the group is what stands still; else each process is sent signals
}

// Into has a process that is about to be started be the root of the tree.
func (t *Tree) Into(a *syscall.SysProcAttr) {
	if t.group != nil {
		a.UseCgroupFD, a.CgroupFD = true, t.group.FD()
	}
}

// Started says that the root is there.
func (t *Tree) Started(root int) {
	t.root = root
	if t.group != nil {
		t.group.Started()
	}
}

// Set stops the whole tree, or has it go on. It waits until all stand still.
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

// Widen has the tree's limits be those of another attempt, but for memory, of which it never
// gets less. Without limits it does nothing.
func (t *Tree) Widen(l cgroup.Limits) error {
	if t.group == nil {
		return nil
	}
	return t.group.Widen(l)
}

// Use keeps the tree to the processors of a list, which is part of the Way's Processors.
func (t *Tree) Use(list string) error { return t.group.Use(list) }

// KeepsTo reports whether the kernel lets the tree hold so many bytes and no more.
func (t *Tree) KeepsTo(bytes int64) bool { return t.group != nil && t.group.KeepsTo(bytes) }

// Holds returns how many bytes the tree holds, where KeepsTo; false: the kernel does not say.
func (t *Tree) Holds() (int64, bool) {
	if t.group == nil {
		return 0, false
	}
	return t.group.Holds()
}

// Starved reports whether the kernel ended processes of the tree for want of memory, at whose
// limit, and what the tree's own is. It knows until Gone, where there are limits.
func (t *Tree) Starved() (s cgroup.Starvation, most int64) {
	if t.group == nil {
		return cgroup.Unknown, 0
	}
	return t.group.Starved()
}

// Kill ends the whole tree. The root is there, or has ended and was not waited for.
func (t *Tree) Kill() error {
	if t.group == nil {
		return proctree.Kill(t.root, t.mark)
	}
	return errors.Join(t.group.Kill(), proctree.KillMarked(t.mark))
}

// Gone says that the root has ended, or was never started: what is left of the tree ends.
func (t *Tree) Gone() {
	_ = proctree.KillMarked(t.mark) // what can't be killed is tried again at the next start
	if t.group != nil {
		t.group.Remove()
	}
}

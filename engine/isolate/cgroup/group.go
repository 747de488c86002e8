package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The files of a group.
const (
	eventsFile = "cgroup.events"
	freezeFile = "cgroup.freeze"
	killFile   = "cgroup.kill"
	procsFile  = "cgroup.procs"

	controllersFile = "cgroup.controllers"
	subtreeFile     = "cgroup.subtree_control"
	swapFile        = "memory.swap.max"
	memoryEvents    = "memory.events"
	memoryStat      = "memory.stat"
)

const (
	// stopMax is how long Set waits until all processes are frozen. A process that waits for a slow
	// disk freezes after the disk's answer.
	stopMax = 2 * time.Second
	// look is the polling interval for a group's events.
	look = time.Millisecond
	// endMax is how long Remove waits for processes that were killed.
	endMax = 5 * time.Second
	// killRounds bounds the scans for processes where the kernel can't kill whole groups. The
	// processes are frozen, so a second scan finds what the first missed.
	killRounds = 50
)

// Group is the group of one worker and all processes that it starts.
type Group struct {
	folder  string
	dir     *os.File // open until the worker has started
	limited bool

	mu     sync.Mutex
	limits Limits // the limits in force
}

// FD is the descriptor to start a process in the group with. It is valid until Started.
func (g *Group) FD() int { return int(g.dir.Fd()) }

// Started says that no further process will be started in the group.
func (g *Group) Started() { g.dir.Close() }

// Set freezes the whole group, or thaws it. It waits at most two seconds until all processes are
// frozen; the others freeze when their system call ends. A group that no longer exists is no error.
func (g *Group) Set(stand bool) error {
	value := "0"
	if stand {
		value = "1"
	}
	err := writeControl(g.folder, freezeFile, value)
	if err == nil && stand {
		_, err = await(g.folder, "frozen 1", stopMax)
	}
	if err == nil {
		err = g.swaps(stand)
	}
	return g.unlessGone(err)
}

// Kill kills all processes of the group, also frozen ones. A group that no longer exists is no
// error.
func (g *Group) Kill() error { return g.unlessGone(kill(g.folder)) }

// unlessGone returns the error unless it says that the group no longer exists.
func (g *Group) unlessGone(err error) error {
	if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ENODEV) {
		return err
	}
	if _, there := os.Stat(g.folder); there != nil {
		return nil
	}
	return err
}

// Remove kills all processes of the group and removes it. It waits at most five seconds until they
// are gone. A group that the system keeps longer is removed with the launcher's group.
func (g *Group) Remove() {
	g.dir.Close()
	RemoveAll(g.folder)
}

// RemoveAll kills all processes of a group and of those below it, and removes the groups.
func RemoveAll(folder string) {
	if kill(folder) != nil {
		return // it is gone, or not ours
	}
	if empty, err := await(folder, "populated 0", endMax); !empty || err != nil {
		return
	}
	all := below(folder)
	slices.Reverse(all) // the innermost first
	for _, g := range all {
		_ = unix.Rmdir(g) // one that remains is removed at the next start
	}
}

// below lists a group and all groups below it, parents first.
func below(folder string) (all []string) {
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			all = append(all, path)
		}
		return nil // groups that vanish meanwhile need no entry
	})
	return all
}

// kill kills all processes of a group and of those below it.
func kill(folder string) error {
	err := writeControl(folder, killFile, "1")
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return killEach(folder) // a kernel before 5.14
}

// killEach freezes a group, so that no process escapes by a fork, and kills one process after the
// other.
func killEach(folder string) error {
	if err := writeControl(folder, freezeFile, "1"); err != nil {
		return err
	}
	for range killRounds {
		if empty, err := await(folder, "populated 0", 0); empty || err != nil {
			return err
		}
		for _, g := range below(folder) {
			for _, pid := range members(g) {
				_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
			}
		}
		if empty, err := await(folder, "populated 0", endMax/killRounds); empty || err != nil {
			return err
		}
	}
	return nil
}

// members are the processes of a group, without those of its child groups.
func members(folder string) (pids []int) {
	text, err := os.ReadFile(filepath.Join(folder, procsFile))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		// 0 is a process outside this one's PID namespace.
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// writeControl writes a value into an existing file.
func writeControl(folder, file, value string) error {
	f, err := os.OpenFile(filepath.Join(folder, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(value)
	return err
}

// await waits at most the given time until a group's events have a line, and reports whether they
// do.
func await(folder, line string, most time.Duration) (bool, error) {
	f, err := os.Open(filepath.Join(folder, eventsFile))
	if err != nil {
		return false, err
	}
	defer f.Close()
	for late := time.Now().Add(most); ; {
		var text [256]byte
		n, err := f.ReadAt(text[:], 0)
		if n == 0 && err != nil {
			return false, err
		}
		if slices.Contains(strings.Split(string(text[:n]), "\n"), line) {
			return true, nil
		}
		left := time.Until(late)
		if left <= 0 {
			return false, nil
		}
		// The kernel notifies of changes, too, but up to ten milliseconds late.
		time.Sleep(min(left, look))
	}
}

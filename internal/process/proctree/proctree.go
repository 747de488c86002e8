// Package proctree finds, freezes and ends whole trees of processes, including members that left
// their process group or lost their parents. It reads /proc, and finds a tree by parent links and
// by a mark in the environment.
package proctree

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// roundsMax bounds a signal's rounds in search of processes that were started meanwhile. A tree
// that forks faster than that is not caught in one call.
const roundsMax = 50

// Mark is a NAME=value in the environment that all members of a tree inherit. The
// empty Mark is no mark.
type Mark string

// process is one entry of /proc.
type process struct {
	pid, parent, session int
	state                byte
}

// A process stops a moment after its stop signal. Stop polls every stopLook until all are stopped,
// for at most stopMax: a process that waits for a slow disk stops after the disk's answer.
const (
	stopLook = time.Millisecond
	stopMax  = 2 * time.Second
)

// Stop freezes the tree of root, root first, so that it starts nothing more. It returns when all
// are stopped. Processes that are not after stopMax stop when their current system call ends.
func Stop(root int, mark Mark) error {
	if err := spread(root, mark, unix.SIGSTOP); err != nil {
		return err
	}
	members := Members(root, mark)
	for late := time.Now().Add(stopMax); time.Now().Before(late); time.Sleep(stopLook) {
		if !slices.ContainsFunc(members, moves) {
			return nil
		}
	}
	return nil
}

// A killed process needs a processor once more before it has ended, which a busy machine gives it
// late. KillMarked polls every killLook, for at most killMax.
const (
	killLook = time.Millisecond
	killMax  = 5 * time.Second
)

// moves reports whether a process is there and not stopped.
func moves(pid int) bool {
	p, ok := readProcess(pid, make([]byte, statBytes))
	return ok && !strings.ContainsRune("TtZX", rune(p.state))
}

// Continue thaws the tree, root last.
func Continue(root int, mark Mark) error {
	members := Members(root, mark)
	slices.Reverse(members)
	return signal(members, unix.SIGCONT)
}

// Kill kills the tree. It freezes the tree first, so that no fork escapes. It finds members with
// the mark even when root has ended already.
func Kill(root int, mark Mark) error {
	// Freezing fails for ended processes; the rest is killed anyway.
	frozen := spread(root, mark, unix.SIGSTOP)
	return errors.Join(frozen, signal(Members(root, mark), unix.SIGKILL))
}

// KillMarked kills every other process with the mark, and returns when all have ended. Those that
// have not after killMax end as soon as the system lets them. No process carries the empty mark.
func KillMarked(mark Mark) error {
	if mark == "" {
		return nil
	}
	for late := time.Now().Add(killMax); time.Now().Before(late); time.Sleep(killLook) {
		members := Members(0, mark)
		if len(members) == 0 {
			return nil
		}
		if err := signal(members, unix.SIGKILL); err != nil {
			return err
		}
	}
	return nil
}

// spread signals all members until a round finds no new ones.
func spread(root int, mark Mark, s unix.Signal) error {
	seen := map[int]bool{}
	for range roundsMax {
		var fresh []int
		for _, pid := range Members(root, mark) {
			if !seen[pid] {
				seen[pid] = true
				fresh = append(fresh, pid)
			}
		}
		if len(fresh) == 0 {
			return nil
		}
		if err := signal(fresh, s); err != nil {
			return err
		}
	}
	return nil
}

// signal sends s to each process. An ended one is no error.
func signal(pids []int, s unix.Signal) error {
	var errs []error
	for _, pid := range pids {
		if err := unix.Kill(pid, s); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Members lists root, its descendants, the processes in its session, and those with the mark: root
// first, then in order of process id. It never lists the calling process or zombies. Root 0 is no
// root.
func Members(root int, mark Mark) []int {
	if root == 0 && !carried(mark) {
		return nil
	}
	return members(list(), root, mark)
}

// carried reports whether any process carries a mark. That takes half the time of list and members,
// and is true seldom: most workers end without child processes.
func carried(mark Mark) bool {
	return mark != "" && slices.ContainsFunc(pids(), func(pid int) bool { return pid != os.Getpid() && carries(pid, mark) })
}

func members(all []process, root int, mark Mark) []int {
	in := map[int]bool{}
	self := os.Getpid()
	for _, p := range all {
		if p.pid == self {
			continue
		}
		if root != 0 && (p.pid == root || p.session == root) || mark != "" && carries(p.pid, mark) {
			in[p.pid] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if p.pid != self && !in[p.pid] && (in[p.parent] || p.parent == root && root != 0) {
				in[p.pid] = true
				grown = true
			}
		}
	}
	return ordered(all, in, root)
}

// Descendants lists the descendants of this process, in order of process id.
func Descendants() []int {
	all := list()
	in := map[int]bool{os.Getpid(): true}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if !in[p.pid] && in[p.parent] {
				in[p.pid] = true
				grown = true
			}
		}
	}
	delete(in, os.Getpid())
	return ordered(all, in, 0)
}

func ordered(all []process, in map[int]bool, root int) []int {
	var pids []int
	for _, p := range all {
		if in[p.pid] && p.state != 'Z' && p.state != 'X' {
			pids = append(pids, p.pid)
		}
	}
	slices.Sort(pids)
	if i := slices.Index(pids, root); i > 0 {
		pids = slices.Insert(slices.Delete(pids, i, i+1), 0, root)
	}
	return pids
}

// statBytes is enough for the start of a stat line: the name of the command, and the fields that parse
// reads.
const statBytes = 512

// list reads /proc. A process that ends meanwhile is left out. A daemon does so each second, so it
// leaves little garbage.
func list() []process {
	numbers := pids()
	all := make([]process, 0, len(numbers))
	buf := make([]byte, statBytes)
	for _, pid := range numbers {
		if p, ok := readProcess(pid, buf); ok {
			all = append(all, p)
		}
	}
	return all
}

// readProcess reads a process's stat line; false: the process is gone.
func readProcess(pid int, buf []byte) (process, bool) {
	fd, err := uninterrupted(func() (int, error) {
		return unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return process{}, false
	}
	defer unix.Close(fd)
	n, err := uninterrupted(func() (int, error) { return unix.Read(fd, buf) })
	if err != nil {
		return process{}, false
	}
	return parse(pid, buf[:n])
}

// uninterrupted repeats a system call that a signal interrupts.
func uninterrupted(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// pids lists the processes, in no order.
func pids() []int {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var all []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// parse reads a stat line. The command's name is in parentheses and may hold any
// character, so fields are counted from the last parenthesis.
func parse(pid int, stat []byte) (process, bool) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return process{}, false
	}
	var fields [4][]byte // state, parent, group, session
	rest := stat[end+1:]
	for i := range fields {
		fields[i], rest, _ = bytes.Cut(bytes.TrimLeft(rest, " "), []byte{' '})
	}
	if len(fields[0]) == 0 {
		return process{}, false
	}
	parent, err1 := strconv.Atoi(string(fields[1]))
	session, err2 := strconv.Atoi(string(fields[3]))
	return process{pid, parent, session, fields[0][0]}, err1 == nil && err2 == nil
}

// carries reports whether a process was started with the mark in its environment.
func carries(pid int, mark Mark) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if string(v) == string(mark) {
			return true
		}
	}
	return false
}

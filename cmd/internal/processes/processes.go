// Package processes starts, finds and breaks processes, for tests of a running cluster. It reads
// /proc, so it is for Linux.
package processes

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/internal/proctest"
)

// Process is a started program. Its methods are safe for concurrent use.
type Process struct {
	Name string
	Cmd  *exec.Cmd
	Log  *proctest.Output // its whole output
	Done chan struct{}    // closed when it has ended and was waited for
}

// outputDelay bounds the wait for the output of an ended process's descendants.
const outputDelay = time.Second

// Start starts a command and keeps its output.
func Start(name string, cmd *exec.Cmd) (*Process, error) {
	p := &Process{Name: name, Cmd: cmd, Log: &proctest.Output{}, Done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.Log, p.Log
	cmd.WaitDelay = outputDelay
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() { _ = cmd.Wait(); close(p.Done) }() // its exit status is in cmd.ProcessState
	return p, nil
}

// Pid is its process id.
func (p *Process) Pid() int { return p.Cmd.Process.Pid }

// Ended reports whether it has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.Done:
		return true
	default:
		return false
	}
}

// Signal sends it a signal; if it has ended, that is no error.
func (p *Process) Signal(s syscall.Signal) error {
	if err := p.Cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%v to %s: %w", s, p.Name, err)
	}
	return nil
}

// Stop sends a signal that ends it, and waits for its end within a limit.
func (p *Process) Stop(s syscall.Signal, limit time.Duration) error {
	if err := p.Signal(s); err != nil {
		return err
	}
	select {
	case <-p.Done:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("%s does not end within %v of %v", p.Name, limit, s)
	}
}

// List lists the live processes that match, in order.
func List(match func(pid int) bool) []int {
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && match(pid) && !Dead(pid) {
			pids = append(pids, pid)
		}
	}
	sort.Ints(pids)
	return pids
}

// Mentioning lists the other processes with a text in their command line or environment.
func Mentioning(text string) []int {
	return List(func(pid int) bool {
		for _, file := range []string{"cmdline", "environ"} {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
			if err == nil && bytes.Contains(b, []byte(text)) && pid != os.Getpid() {
				return true
			}
		}
		return false
	})
}

// Below lists the descendants of a process.
func Below(root int) []int {
	return List(func(pid int) bool {
		for p := Parent(pid); p > 1; p = Parent(p) {
			if p == root {
				return true
			}
		}
		return false
	})
}

// Dead reports whether a process is gone, or is a zombie.
func Dead(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || bytes.Contains(b, []byte(") Z "))
}

// Parent is the parent of a process, 0 when it is gone.
func Parent(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	ppid, _ := strconv.Atoi(fields[1])
	return ppid
}

// Describe describes processes, one or two lines each.
func Describe(pids []int) string {
	var s strings.Builder
	for _, pid := range pids {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		fmt.Fprintf(&s, "%d: %q\n%s\n", pid, line, stat)
	}
	return s.String()
}

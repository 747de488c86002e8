package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/engine/client"
)

const (
	// A part that dies is started again, at most restartsMax times within
	// restartsWindow; then the cluster ends.
	restartsMax    = 5
	restartsWindow = time.Minute
	// partStop is how long a part has to end by itself, programStop how long the
	// program has after SIGTERM.
	partStop    = 10 * time.Second
	programStop = 30 * time.Second
	// tailBytes of a part's log are shown when it fails.
	tailBytes = 4 << 10
)

// local is the set of processes of a local cluster.
type local struct {
	data  string
	env   []string // added to the environment of all
	spawn chan func()

	// whole ends with the first part that can't be kept up, whose failure is its
	// cause, or with the cluster. Whatever waits for a part waits for it too: a part
	// may be silent because another one failed.
	whole context.Context
	end   context.CancelCauseFunc

	up atomic.Bool // all ran once

	mu       sync.Mutex
	commands map[string]*exec.Cmd
	watching sync.WaitGroup
}

// errEnding is the cause when the cluster is told to end.
var errEnding = errors.New("the cluster ends")

// newLocal starts the thread that starts the processes: the kernel ties the
// signal of a parent's death to the thread that made the child.
func newLocal(data string) *local {
	l := &local{data: data, spawn: make(chan func()), commands: map[string]*exec.Cmd{}}
	l.whole, l.end = context.WithCancelCause(context.Background())
	go func() {
		runtime.LockOSThread()
		for start := range l.spawn {
			start()
		}
	}()
	return l
}

// begin starts a process that dies when this one does.
func (l *local) begin(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	done := make(chan error)
	l.spawn <- func() { done <- cmd.Start() }
	return <-done
}

// child runs a part and keeps it up. It returns what the part says when it is
// ready for the first time; args gets that when it is started again.
func (l *local) child(ctx context.Context, name string, args func(ready string) []string) (string, error) {
	ready, ended, err := l.part(ctx, name, args(""))
	if err != nil {
		return "", err
	}
	l.watching.Go(func() { l.keep(name, func() []string { return args(ready) }, ended) })
	return ready, nil
}

// part starts one process and waits until it is ready or has ended.
func (l *local) part(ctx context.Context, name string, args []string) (string, <-chan error, error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	log, err := os.OpenFile(l.logOf(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", nil, err
	}
	defer log.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return "", nil, err
	}
	defer r.Close()
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles, cmd.Env = log, log, []*os.File{w}, append(os.Environ(), l.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ctrl-C is for this process to handle
	err = l.begin(cmd)
	w.Close()
	if err != nil {
		return "", nil, err
	}
	l.mu.Lock()
	l.commands[name] = cmd
	l.mu.Unlock()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(r).ReadString('\n')
		lines <- strings.TrimSpace(line)
	}()
	select {
	case line := <-lines:
		if line != "" {
			return line, ended, nil
		}
		return "", nil, l.fail(name, fmt.Errorf("the %s ended before it was ready: %w", name, <-ended))
	case <-l.whole.Done():
		return "", nil, context.Cause(l.whole)
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return "", nil, l.fail(name, fmt.Errorf("the %s is not ready after %v", name, readyTimeout))
		}
		return "", nil, ctx.Err()
	}
}

func (l *local) logOf(name string) string { return filepath.Join(l.data, name+".log") }

// keep starts a part again when it ends.
func (l *local) keep(name string, args func() []string, ended <-chan error) {
	var starts []time.Time
	for {
		var err error
		select {
		case <-l.whole.Done():
			l.stopPart(name, ended)
			return
		case err = <-ended:
		}
		if l.whole.Err() != nil {
			return
		}
		if !l.up.Load() { // its cause does not pass: the configuration, mostly
			_ = l.fail(name, fmt.Errorf("the %s ended before the cluster was up: %w", name, err))
			return
		}
		now := time.Now()
		for len(starts) > 0 && now.Sub(starts[0]) > restartsWindow {
			starts = starts[1:]
		}
		if starts = append(starts, now); len(starts) > restartsMax {
			_ = l.fail(name, fmt.Errorf("the %s ended %d times within %v, the last time with: %w", name, len(starts), restartsWindow, err))
			return
		}
		fmt.Fprintf(os.Stderr, "hamadryad: the %s ended (%v) and is started again\n", name, err)
		ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
		_, ended, err = l.part(ctx, name, args())
		cancel()
		if err != nil {
			return // part told it
		}
	}
}

// fail notes that a part can't be kept up, with the end of its log, and returns what
// the cluster ends with: the first such failure.
func (l *local) fail(name string, err error) error {
	log, readErr := os.ReadFile(l.logOf(name))
	if log = bytes.TrimSpace(log[max(0, len(log)-tailBytes):]); readErr == nil && len(log) > 0 {
		err = fmt.Errorf("%w\nthe end of its log:\n%s", err, log)
	}
	l.end(err)
	return context.Cause(l.whole)
}

// stopPart stops a part, by force if it takes too long.
func (l *local) stopPart(name string, ended <-chan error) {
	l.mu.Lock()
	cmd := l.commands[name]
	l.mu.Unlock()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-ended:
		slog.Debug("a part ended when it was told to", "part", name, "error", err)
		return
	case <-time.After(partStop):
	}
	_ = cmd.Process.Kill()
	err := <-ended
	slog.Debug("a part was killed, because it did not end when it was told to", "part", name, "error", err)
}

// stop ends all parts.
func (l *local) stop() {
	l.end(errEnding)
	l.watching.Wait()
	l.mu.Lock()
	for _, cmd := range l.commands {
		_ = cmd.Process.Kill() // of those that never were ready; the others have ended
	}
	l.mu.Unlock()
	close(l.spawn)
}

// run runs the program and returns its exit code as an error. The first signal
// to stop is left to the program; from a terminal it has got it already.
func (l *local) run(address string, program []string) error {
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(append(os.Environ(), l.env...), client.AddressVariable+"="+address)
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	defer signal.Stop(terms)
	if err := l.begin(cmd); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var lost error
	broken := l.whole.Done()
	for {
		select {
		case err := <-ended:
			if lost != nil {
				return lost
			}
			return programExit(err)
		case <-terms:
			_ = cmd.Process.Signal(syscall.SIGTERM)
			time.AfterFunc(programStop, func() { _ = cmd.Process.Kill() })
		case <-broken:
			broken, lost = nil, context.Cause(l.whole)
			_ = cmd.Process.Kill()
		}
	}
}

// programExit is the program's exit code, 128 and the signal's number when a
// signal ended it.
func programExit(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitCode(128 + int(status.Signal()))
	}
	return exitCode(exit.ExitCode())
}

package local

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/internal/childproc"
)

const (
	// A part that dies is restarted, at most restartsMax times within restartsWindow; then the
	// cluster ends.
	restartsMax    = 5
	restartsWindow = time.Minute
	// partStop is how long a part has to end after the signal.
	partStop = 10 * time.Second
	// tailBytes of a part's log are shown when it fails.
	tailBytes = 4 << 10
)

// parts are the processes of a cluster, with their supervision.
type parts struct {
	folder string   // for their logs
	env    []string // added to the environment of all

	// whole ends with the first part that can't be kept up, whose failure is its cause, or with the
	// cluster. Each wait for a part also ends with whole: a part may be silent because another one
	// failed.
	whole context.Context
	end   context.CancelCauseFunc

	up atomic.Bool // all ran once

	mu       sync.Mutex
	commands map[string]*exec.Cmd
	watching sync.WaitGroup
}

// errEnding is the cause when the cluster is stopped.
var errEnding = errors.New("the cluster ends")

func newParts(folder string, env []string) *parts {
	p := &parts{folder: folder, env: env, commands: map[string]*exec.Cmd{}}
	p.whole, p.end = context.WithCancelCause(context.Background())
	return p
}

// child runs a part and keeps it up. It returns the line that the part prints when it is ready for
// the first time; args gets that line at a restart.
func (p *parts) child(ctx context.Context, name string, args func(ready string) []string) (string, error) {
	ready, ended, err := p.part(ctx, name, args(""))
	if err != nil {
		return "", err
	}
	p.watching.Go(func() { p.keep(name, func() []string { return args(ready) }, ended) })
	return ready, nil
}

// part starts one process and waits until it is ready or has ended.
func (p *parts) part(ctx context.Context, name string, args []string) (string, <-chan error, error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	log, err := os.OpenFile(p.logOf(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", nil, err
	}
	defer log.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return "", nil, err
	}
	defer r.Close()
	cmd := exec.Command(self, append(slices.Clone(args), "--"+ExitWithParent, "--"+ReadyFD, "3")...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles, cmd.Env = log, log, []*os.File{w}, append(os.Environ(), p.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ctrl-C is for this process to handle
	err = childproc.Start(cmd)
	w.Close()
	if err != nil {
		return "", nil, err
	}
	p.mu.Lock()
	p.commands[name] = cmd
	p.mu.Unlock()
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
		return "", nil, p.fail(name, fmt.Errorf("the %s ended before it was ready: %w", name, <-ended))
	case <-p.whole.Done():
		return "", nil, context.Cause(p.whole)
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return "", nil, p.fail(name, fmt.Errorf("the %s is not ready after %v", name, ReadyMax))
		}
		return "", nil, ctx.Err()
	}
}

func (p *parts) logOf(name string) string { return filepath.Join(p.folder, name+".log") }

// keep restarts a part when it ends.
func (p *parts) keep(name string, args func() []string, ended <-chan error) {
	var starts []time.Time
	for {
		var err error
		select {
		case <-p.whole.Done():
			p.stopPart(name, ended)
			return
		case err = <-ended:
		}
		if p.whole.Err() != nil {
			return
		}
		if !p.up.Load() { // its cause does not pass: the configuration, mostly
			_ = p.fail(name, fmt.Errorf("the %s ended before the cluster was up: %w", name, err))
			return
		}
		now := time.Now()
		for len(starts) > 0 && now.Sub(starts[0]) > restartsWindow {
			starts = starts[1:]
		}
		if starts = append(starts, now); len(starts) > restartsMax {
			_ = p.fail(name, fmt.Errorf("the %s ended %d times within %v, the last time with: %w", name, len(starts), restartsWindow, err))
			return
		}
		fmt.Fprintf(os.Stderr, "hamadryad: the %s ended (%v) and is started again\n", name, err)
		ctx, cancel := context.WithTimeout(context.Background(), ReadyMax)
		_, ended, err = p.part(ctx, name, args())
		cancel()
		if err != nil {
			return // the part reported it
		}
	}
}

// fail notes that a part can't be kept up, with the end of its log. It returns the cluster's error:
// the first such failure.
func (p *parts) fail(name string, err error) error {
	log, readErr := os.ReadFile(p.logOf(name))
	if log = bytes.TrimSpace(log[max(0, len(log)-tailBytes):]); readErr == nil && len(log) > 0 {
		err = fmt.Errorf("%w\nthe end of its log:\n%s", err, log)
	}
	p.end(err)
	return context.Cause(p.whole)
}

// stopPart stops a part, by force if it takes too long.
func (p *parts) stopPart(name string, ended <-chan error) {
	p.mu.Lock()
	cmd := p.commands[name]
	p.mu.Unlock()
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
func (p *parts) stop() {
	p.end(errEnding)
	p.watching.Wait()
	p.mu.Lock()
	for _, cmd := range p.commands {
		_ = cmd.Process.Kill() // of parts that never were ready; the others have ended
	}
	p.mu.Unlock()
}

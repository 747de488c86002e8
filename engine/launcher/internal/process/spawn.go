package process

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/isolate/sandboxinit"
	"github.com/hamadryad/hamadryad/engine/isolate/seccomp"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/suspend"
	"github.com/hamadryad/hamadryad/internal/childproc"
)

// start starts the process as the root of a tree, and waits until it runs its program. With an
// Order it also returns the system calls that the kernel refuses, where the kernel reports them.
func (c Command) start(ctx context.Context, tree *suspend.Tree, log *slog.Logger, out *os.File, more ...*os.File) (*exec.Cmd, *seccomp.Blocked, error) {
	if c.Order == nil {
		cmd, err := start(ctx, func() *exec.Cmd {
			cmd := exec.Command(c.Program)
			cmd.Dir, cmd.SysProcAttr = c.Dir, &syscall.SysProcAttr{Setsid: true}
			return c.prepare(cmd, tree, out, more)
		})
		if err == nil {
			c.started(cmd.Process.Pid, tree, log)
		}
		return cmd, nil, err
	}
	report, theirs, err := sandboxinit.Report()
	if err != nil {
		return nil, nil, err
	}
	cmd, err := start(ctx, func() *exec.Cmd {
		return c.prepare(sandboxinit.Command(c.Step, c.Order), tree, out, append(more, theirs))
	})
	theirs.Close()
	if err != nil {
		return nil, nil, errors.Join(err, report.Close())
	}
	c.started(cmd.Process.Pid, tree, log)
	listener, err := sandboxinit.Await(report)
	if err != nil {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // the error is known already
		return nil, nil, err
	}
	if listener == nil {
		return cmd, nil, nil
	}
	return cmd, seccomp.Watch(listener), nil
}

// started sets the tree's root, and pins it to its processors. That has to follow the start,
// because kernels before 6.3 ignore a setting that was made on the empty group.
func (c Command) started(root int, tree *suspend.Tree, log *slog.Logger) {
	tree.Started(root)
	if c.Processors == "" {
		return
	}
	if err := tree.Use(c.Processors); err != nil {
		log.Warn("a worker begins on all processors", "pid", root, "processors", c.Processors, "error", err)
	}
}

// prepare sets what all workers have in common.
func (c Command) prepare(cmd *exec.Cmd, tree *suspend.Tree, out *os.File, more []*os.File) *exec.Cmd {
	cmd.Env = append(c.Env[:len(c.Env):len(c.Env)], string(c.Mark))
	cmd.Stdout, cmd.Stderr = out, out
	cmd.ExtraFiles = more
	tree.Into(cmd.SysProcAttr)
	return cmd
}

// busyTries and busyWait bound the retries to start a program whose file another process, forked at
// the same moment, still holds open for writing.
const (
	busyTries = 200
	busyWait  = 10 * time.Millisecond
)

// start starts a command that ends with this process. A command that failed to start can't be
// started again, so make returns a new one for each try.
func start(ctx context.Context, make func() *exec.Cmd) (*exec.Cmd, error) {
	for try := 1; ; try++ {
		cmd := make()
		err := childproc.Start(cmd)
		if !errors.Is(err, unix.ETXTBSY) || try == busyTries {
			return cmd, err
		}
		select {
		case <-time.After(busyWait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

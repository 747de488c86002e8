package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/worker/proctree"
	"github.com/hamadryad/hamadryad/sdk/job"
)

const (
	// stderrTail is how much of the end of a command's standard error goes into the
	// error when it fails, in bytes.
	stderrTail = 2 << 10
	// leftoverWait is how long a command's pipes may stay open once it ended: by
	// processes that it left behind, which are then killed.
	leftoverWait = 500 * time.Millisecond
	// commandVariable marks a command's processes in their environment.
	commandVariable = "HAMADRYAD_COMMAND"
)

// graceOf is the time between SIGTERM and SIGKILL for a command.
func graceOf(c *job.Command) time.Duration {
	if c.Grace > 0 {
		return c.Grace
	}
	return job.CommandGraceDefault
}

// running is a command that was started.
type running struct {
	node    *node
	spec    *job.Command
	cmd     *exec.Cmd
	mark    proctree.Mark
	stdin   *os.File // our ends of its pipes
	stdout  *os.File
	stderr  *os.File
	errTail tail
	exited  chan struct{} // closed after Wait
}

// command is the Program of a node that is an external command.
func (n *node) command(ctx context.Context, handle *job.Node) error {
	// The command dies with the thread that started it (see start), so this
	// goroutine keeps its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c, err := n.startCommand()
	if err != nil {
		return err
	}
	var feedErr, readErr error
	var pipes sync.WaitGroup
	feedCtx, stopFeeding := context.WithCancel(ctx)
	defer stopFeeding()
	pipes.Go(func() { feedErr = c.feed(feedCtx, handle) })
	pipes.Go(func() { readErr = c.collect(ctx, handle) })
	pipes.Go(c.hear)
	go c.endOn(ctx)

	waitErr := c.cmd.Wait()
	close(c.exited)
	stopFeeding() // what it did not read, it did not want
	c.endLeftovers(&pipes)
	return c.verdict(waitErr, feedErr, readErr)
}

// startCommand starts the process with its pipes, in a group of its own. It dies
// with the worker.
func (n *node) startCommand() (*running, error) {
	spec := n.spec.Command
	info := n.Info()
	if err := n.group.scratch(); err != nil {
		return nil, explainDisk(err, n.group.run.Scratch)
	}
	if err := n.group.w.placeFiles(spec, info.Scratch); err != nil {
		return nil, err
	}
	c := &running{node: n, spec: spec, exited: make(chan struct{})}
	name := fmt.Sprintf("%d.%d.%d", n.group.start.Attempt, n.stage, n.index)
	c.mark = proctree.Mark(commandVariable + "=" + name)
	c.cmd = exec.Command(spec.Args[0], spec.Args[1:]...)
	c.cmd.Dir = info.Scratch
	c.cmd.Env = append(os.Environ(),
		"HAMADRYAD_JOB="+info.Job, "HAMADRYAD_STAGE="+info.Stage,
		"HAMADRYAD_NODE="+strconv.Itoa(info.Index), "HAMADRYAD_NODES="+strconv.Itoa(info.Nodes))
	c.cmd.Env = append(append(c.cmd.Env, spec.Env...), string(c.mark))
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	theirs, err := c.openPipes()
	if err != nil {
		return nil, err
	}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	err = c.cmd.Start()
	closeAll(theirs...)
	if err != nil {
		closeAll(c.stdin, c.stdout, c.stderr)
		return nil, fmt.Errorf("command %q: %w; it must be installed on every launcher's machine, or travel with the job in Command.Files", spec.Args[0], err)
	}
	return c, nil
}

// openPipes makes the command's three pipes and returns its own ends of them.
// They are files on both sides, so that Wait waits for the process only.
func (c *running) openPipes() ([]*os.File, error) {
	var files []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(files...)
			return nil, &resourceError{fmt.Errorf("pipe for a command: %w", err)}
		}
		files = append(files, r, w)
	}
	c.stdin, c.stdout, c.stderr = files[1], files[2], files[4]
	return []*os.File{files[0], files[3], files[5]}, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// hear passes the command's standard error on to the log.
func (c *running) hear() {
	defer c.stderr.Close()
	_, _ = io.Copy(io.MultiWriter(os.Stderr, &c.errTail), c.stderr) // a log that is cut short is no failure
}

// feed writes the node's input to the command. A command that stops reading has
// had enough.
func (c *running) feed(ctx context.Context, handle *job.Node) error {
	defer c.stdin.Close()
	stop := context.AfterFunc(ctx, func() { c.stdin.Close() })
	defer stop()
	err := writeInput(ctx, handle, c.node, c.spec.Framing, c.stdin)
	if errors.Is(err, unix.EPIPE) || errors.Is(err, os.ErrClosed) || ctx.Err() != nil {
		return nil
	}
	return err
}

// collect reads records from the command's output. When that fails the command
// is killed: it would wait for its reader.
func (c *running) collect(ctx context.Context, handle *job.Node) error {
	defer c.stdout.Close()
	var err error
	if out, noPort := handle.Output("out"); noPort != nil {
		_, err = io.Copy(os.Stderr, c.stdout) // nobody reads it: it belongs in the log
	} else {
		err = readOutput(ctx, out, c.spec, c.stdout)
	}
	if err != nil {
		c.kill()
	}
	return err
}

// endOn ends the command when the attempt is stopped or fails: SIGTERM, and
// SIGKILL after the grace.
func (c *running) endOn(ctx context.Context) {
	select {
	case <-c.exited:
		return
	case <-ctx.Done():
	case <-c.node.group.stopping:
	}
	_ = unix.Kill(-c.cmd.Process.Pid, unix.SIGTERM) // one that ended meanwhile needs none
	grace := time.NewTimer(graceOf(c.spec))
	defer grace.Stop()
	select {
	case <-c.exited:
	case <-grace.C:
		c.kill()
	}
}

// kill ends the command and all that it started.
func (c *running) kill() {
	_ = unix.Kill(-c.cmd.Process.Pid, unix.SIGKILL) // likewise
	_ = proctree.KillMarked(c.mark)
}

// endLeftovers waits for the pipes to end, and kills what holds them open.
func (c *running) endLeftovers(pipes *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		pipes.Wait()
		close(done)
	}()
	_ = unix.Kill(-c.cmd.Process.Pid, unix.SIGKILL) // its process group, should anything be left in it
	late := time.NewTimer(leftoverWait)
	defer late.Stop()
	select {
	case <-done:
		return
	case <-late.C:
	}
	// Either something holds the pipe, or the reader of the node's output is slow:
	// the kill ends the first and does not touch the second.
	_ = proctree.KillMarked(c.mark)
	<-done
}

// verdict makes one error of how the command ended.
func (c *running) verdict(wait, feed, read error) error {
	if read != nil {
		return fmt.Errorf("command %q: %w", c.spec.Args[0], read)
	}
	if wait != nil {
		last := c.errTail.String()
		if last != "" {
			last = "; its last words:\n" + last
		}
		return fmt.Errorf("command %q: %w%s", c.spec.Args[0], wait, last)
	}
	if feed != nil {
		return fmt.Errorf("input of command %q: %w", c.spec.Args[0], feed)
	}
	return nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-stderrTail):]...)
	if extra := len(t.buf) - stderrTail; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf))
}

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/internal/childproc"
	"github.com/hamadryad/hamadryad/internal/process/proctree"
	"github.com/hamadryad/hamadryad/sdk/job"
)

const (
	// leftoverWait is how long a command's pipes may stay open after its end: children that it left
	// behind hold them, which are then killed.
	leftoverWait = 500 * time.Millisecond
	// commandVariable marks a command's processes in their environment.
	commandVariable = "HAMADRYAD_COMMAND"
)

// Site is where a command runs.
type Site struct {
	Info     job.Info
	Stopping <-chan struct{} // closed when the attempt is asked to end; may be nil
	Log      io.Writer       // receives standard error, and output that nobody reads; one write at a time
}

// GraceOf is the time between SIGTERM and SIGKILL for a command.
func GraceOf(c *job.Command) time.Duration {
	if c.Grace > 0 {
		return c.Grace
	}
	return job.CommandGraceDefault
}

// running is a command that was started.
type running struct {
	site    Site
	spec    *job.Command
	cmd     *exec.Cmd
	mark    proctree.Mark
	stdin   *os.File // our ends of its pipes
	stdout  *os.File
	stderr  *os.File
	errTail tail
	moves   activity
	hung    atomic.Bool
	goexit  atomic.Bool   // a function of Pipes ended its goroutine
	exited  chan struct{} // closed after Wait
	paniced atomic.Pointer[Panic]
}

// Run implements job.Node.Run.
func Run(ctx context.Context, site Site, spec *job.Command, p job.Pipes) error {
	site.Log = &lockedWriter{to: site.Log}
	c, err := start(site, spec)
	if err != nil {
		return err
	}
	var feedErr, readErr error
	var pipes sync.WaitGroup
	feedCtx, stopFeeding := context.WithCancel(ctx)
	defer stopFeeding()
	pipes.Go(func() { feedErr = c.feed(feedCtx, p.In) })
	pipes.Go(func() { readErr = c.collect(p.Out) })
	pipes.Go(func() { c.hear(p.Err) })
	go c.endOn(ctx)
	go c.watch()

	waitErr := c.cmd.Wait()
	close(c.exited)
	stopFeeding() // unread input was not wanted
	c.endLeftovers(&pipes)
	if p := c.paniced.Load(); p != nil {
		panic(p)
	}
	return c.verdict(waitErr, feedErr, readErr)
}

// started numbers the commands of this process, for their marks.
var started atomic.Uint64

// start starts the process with its pipes, in its own process group. It dies with this process.
func start(site Site, spec *job.Command) (*running, error) {
	if len(spec.Args) == 0 {
		return nil, errors.New("a job.Command without Args: name the program to run")
	}
	info := site.Info
	c := &running{site: site, spec: spec, exited: make(chan struct{})}
	c.mark = proctree.Mark(fmt.Sprintf("%s=%d.%d.%d", commandVariable, os.Getpid(), info.Attempt, started.Add(1)))
	c.cmd = exec.Command(spec.Args[0], spec.Args[1:]...)
	c.cmd.Dir = info.Scratch
	c.cmd.Env = append(os.Environ(),
		"HAMADRYAD_JOB="+info.Job, "HAMADRYAD_STAGE="+info.Stage,
		"HAMADRYAD_NODE="+strconv.Itoa(info.Index), "HAMADRYAD_NODES="+strconv.Itoa(info.Nodes))
	c.cmd.Env = append(append(append(c.cmd.Env, elementVariables(&info)...), spec.Env...), string(c.mark))
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	theirs, err := c.openPipes()
	if err != nil {
		return nil, err
	}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	err = childproc.Start(c.cmd)
	closeAll(theirs...)
	if err != nil {
		closeAll(c.stdin, c.stdout, c.stderr)
		if hint := badScripts(info.Scratch, spec.Args); hint != "" {
			return nil, fmt.Errorf("command %q: %w%s", spec.Args[0], err, hint)
		}
		return nil, fmt.Errorf("command %q: %w; it must be installed on every launcher's machine, or travel with the job in the stage's files", spec.Args[0], err)
	}
	return c, nil
}

// elementVariables are the variables of a command that runs an element of a job array.
func elementVariables(info *job.Info) []string {
	n := info.Elements.Count()
	if n == 0 {
		return nil
	}
	number := strconv.Itoa
	return []string{
		"HAMADRYAD_ELEMENT=" + number(info.Element), "HAMADRYAD_ELEMENT_COUNT=" + number(n),
		"HAMADRYAD_ELEMENT_MIN=" + number(info.Elements.Index(0)), "HAMADRYAD_ELEMENT_MAX=" + number(info.Elements.Index(n-1)),
	}
}

// openPipes makes the command's three pipes and returns its own ends of them.
// They are files on both sides, so that Wait waits for the process only.
func (c *running) openPipes() ([]*os.File, error) {
	var files []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(files...)
			return nil, fmt.Errorf("pipe for a command: %w", err)
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

// endOn ends the command when the attempt is stopped or fails: SIGTERM, and
// SIGKILL after the grace.
func (c *running) endOn(ctx context.Context) {
	select {
	case <-c.exited:
		return
	case <-ctx.Done():
	case <-c.site.Stopping:
	}
	_ = unix.Kill(-c.cmd.Process.Pid, unix.SIGTERM) // an ended one needs none
	grace := time.NewTimer(GraceOf(c.spec))
	defer grace.Stop()
	select {
	case <-c.exited:
	case <-grace.C:
		c.kill()
	}
}

// kill kills the command and all its descendants.
func (c *running) kill() {
	_ = unix.Kill(-c.cmd.Process.Pid, unix.SIGKILL) // likewise
	_ = proctree.KillMarked(c.mark)
}

// endLeftovers waits for the pipes to end, and kills processes that hold them open.
func (c *running) endLeftovers(pipes *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		pipes.Wait()
		close(done)
	}()
	_ = unix.Kill(-c.cmd.Process.Pid, unix.SIGKILL) // its process group, if any process is left in it
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

// verdict combines the errors of the command's end.
func (c *running) verdict(wait, feed, read error) error {
	name := c.spec.Args[0]
	switch {
	case c.goexit.Load():
		return fmt.Errorf("command %q: %w", name, errGoexit)
	case c.hung.Load():
		return fmt.Errorf("command %q read nothing, printed nothing and logged nothing for %v, so it was killed: does it read its whole input? a longer limit is Command.Quiet%s", name, quietOf(c.spec), c.lastWords())
	case read != nil:
		return fmt.Errorf("command %q: %w", name, read)
	case feed != nil:
		return fmt.Errorf("input of command %q: %w", name, feed)
	case wait != nil:
		return fmt.Errorf("command %q: %w%s%s", name, wait, c.scriptHint(wait), c.lastWords())
	}
	return nil
}

func (c *running) lastWords() string {
	last := c.errTail.String()
	if last == "" {
		return ""
	}
	return "; its last words:\n" + last
}

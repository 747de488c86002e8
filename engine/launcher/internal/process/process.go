// Package process is a worker's process as its launcher sees it: messages to it, messages and
// output from it, and its end.
//
//	p, err := process.Start(ctx, process.Command{Program: path, Env: env, Dir: scratch, Mark: mark}, lease, log)
//	p.Send(setup)
//	for m, err := p.Receive(); err == nil; m, err = p.Receive() { ... }
//	p.Await()
//
// A process ends with the launcher, and with the launcher's lease. Its child processes end with it.
package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/isolate/cgroup"
	"github.com/hamadryad/hamadryad/engine/isolate/sandboxinit"
	"github.com/hamadryad/hamadryad/engine/isolate/seccomp"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/lease"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/logs"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/suspend"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/vetting"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/ipc"
	"github.com/hamadryad/hamadryad/internal/process/proctree"
)

const (
	// goneWait is how long the socket of a dead worker may stay open.
	goneWait = 500 * time.Millisecond
	// farewellWait is how long an idle worker may take to exit.
	farewellWait = 2 * time.Second
)

// Command describes a process to start.
type Command struct {
	Program string
	Env     []string // the whole environment, except for the mark
	Dir     string
	Mark    proctree.Mark // in the environment of all its child processes; no other process has it
	Way     suspend.Way   // how the worker is stopped, continued, and kept within limits
	Limits  cgroup.Limits // for it and its child processes together, where the Way has groups with limits
	// Processors is the list of the Way's processors to which it is pinned from its start; "": all.
	Processors string
	// Step is a program with its first arguments that carries out Order and then becomes the
	// worker; Order holds program and folder then. Empty: the process runs as the launcher's user.
	Step  []string
	Order *sandboxinit.Order
}

// Process is one worker's process. Its methods are safe for concurrent use, except for Receive and
// Await, which one goroutine calls.
type Process struct {
	cmd   *exec.Cmd
	conn  *ipc.Conn
	pipe  *logs.Pipe
	lease *lease.Lease
	log   *slog.Logger
	// blocked are the system calls that the kernel refuses it; nil where the kernel does not report
	// them.
	blocked     *seccomp.Blocked
	toldBlocked sync.Once
	refused     refusals // of the attempt that it runs

	unsent  sendQueue
	gone    chan struct{} // closed when the process has ended
	ended   chan struct{} // closed when its child processes have ended, too
	killing sync.Once     // its process id may be reused once it is gone

	starved cgroup.Starvation // why the kernel killed it for want of memory; known once it is gone
	most    int64             // its own limit then

	// Tree is stopped and continued when the attempt is suspended.
	Tree *suspend.Tree
}

// Start starts a process and reads its output. The caller then calls Receive.
func Start(ctx context.Context, c Command, l *lease.Lease, log *slog.Logger) (*Process, error) {
	conn, theirs, err := ipc.Pair()
	if err != nil {
		return nil, err
	}
	pipe, theirOut, err := logs.NewPipe()
	if err != nil {
		conn.Close()
		theirs.Close()
		return nil, err
	}
	mark := c.Mark
	if c.Order != nil {
		mark = "" // the first process of a namespace takes all others with it when it ends: no stray can be left
	}
	tree, err := c.Way.Tree(mark, c.Limits)
	if err != nil {
		conn.Close()
		theirs.Close()
		pipe.Close()
		theirOut.Close()
		return nil, err
	}
	cmd, blocked, err := c.start(ctx, tree, log, theirOut, theirs)
	theirs.Close()
	theirOut.Close()
	if err != nil {
		tree.Gone()
		conn.Close()
		pipe.Close()
		return nil, err
	}
	p := &Process{
		cmd: cmd, conn: conn, pipe: pipe, lease: l, log: log,
		gone: make(chan struct{}), ended: make(chan struct{}),
		Tree: tree,
	}
	l.Covers(cmd.Process)
	if blocked != nil {
		p.blocked = blocked
		go blocked.Each(p.reportBlocked)
	}
	go pipe.Run()
	go p.wait()
	return p, nil
}

// PID is its process id, which may be reused once the process is gone.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Gone closes when the process has ended.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Ended closes when the process's children have ended, too, as far as they can be killed.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// State is how the process ended, once it is gone.
func (p *Process) State() *os.ProcessState { return p.cmd.ProcessState }

// Starved returns, once the process is gone, whether the kernel killed it or a child for want of
// memory, at whose limit, and the process's own limit. Without limits the kernel does not report
// that.
func (p *Process) Starved() (s cgroup.Starvation, most int64) { return p.starved, p.most }

// LogTo redirects later output to another log, or to none if log is nil. Earlier output stays in
// the current log.
func (p *Process) LogTo(log *logs.Log) { p.pipe.SwitchTo(log) }

// BeginAttempt is LogTo for a new attempt.
func (p *Process) BeginAttempt(log *logs.Log) {
	p.refused.clear()
	p.LogTo(log)
}

// Refused names the system calls that the kernel refused the current attempt, for the attempt's
// failure; "" if it refused none.
func (p *Process) Refused() string { return p.refused.text() }

// LastWords is the end of the current log.
func (p *Process) LastWords() string { return p.pipe.Last() }

// reportBlocked logs in the attempt's log, and in the launcher's, that the kernel refused a call.
func (p *Process) reportBlocked(call string) {
	if !p.refused.add(call) {
		return
	}
	p.toldBlocked.Do(func() {
		p.log.Info("an isolated worker made a system call that is refused; its log names all such calls", "pid", p.PID(), "call", call)
	})
	p.pipe.Say(fmt.Sprintf("launcher: the system call %s was refused, as it is to isolated workers; launcher.isolation.calls lists those that are allowed all the same\n", call))
}

// Receive waits for the next message. After an error there are no more messages, and the caller
// calls Await. A *vetting.Offence says which message the worker was not allowed to send.
func (p *Process) Receive() (*wire.FromWorker, error) {
	frame, err := p.conn.Frame(vetting.FrameBytesMax)
	if large := (*ipc.TooLargeError)(nil); errors.As(err, &large) {
		return nil, vetting.TooLargeFrame(large.Head, large.Size)
	}
	if err != nil {
		return nil, err
	}
	return vetting.Decode(frame)
}

// Await waits for the end of a process that has lost its socket, and kills it after goneWait: a
// worker without its socket is useless.
func (p *Process) Await() {
	late := time.NewTimer(goneWait)
	defer late.Stop()
	select {
	case <-p.gone:
	case <-late.C:
		p.Kill()
		<-p.gone
	}
	p.conn.Close()
}

// Close drops output that is still in the pipe. It follows Await and LastWords.
func (p *Process) Close() { p.pipe.Close() }

// wait waits for the end of the process.
func (p *Process) wait() {
	_ = p.cmd.Wait() // how it ended is in ProcessState
	p.lease.Gone(p.cmd.Process)
	if p.blocked != nil {
		p.blocked.Close()
	}
	p.starved, p.most = p.Tree.Starved()
	close(p.gone)
	time.AfterFunc(goneWait, func() { p.conn.Close() }) // a child may hold it open: the reader must not wait for that
	p.Tree.Gone()                                       // its children die with it too
	close(p.ended)
}

// Dismiss asks an idle worker to exit, and kills it after farewellWait.
func (p *Process) Dismiss() {
	p.Send(&wire.ToWorker{Do: &wire.ToWorker_Exit{Exit: true}})
	p.KillAfter(farewellWait)
}

// KillAfter kills the process after d, unless it has ended before.
func (p *Process) KillAfter(d time.Duration) { time.AfterFunc(d, p.Kill) }

// Kill ends the process and its child processes. It may wait for the system.
func (p *Process) Kill() {
	p.killing.Do(func() {
		select {
		case <-p.gone:
			return // its process id may be reused by now; wait ends its children
		default:
		}
		if err := p.Tree.Kill(); err != nil {
			p.log.Warn("can't kill a worker", "pid", p.PID(), "error", err)
		}
	})
}

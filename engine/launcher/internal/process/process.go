// Package process is a worker's process as its launcher sees it: messages to it, messages and
// output from it, and its end.
//
//	p, err := process.Start(ctx, process.Command{Program: path, Env: env, Dir: scratch, Mark: mark}, lease, log)
//	p.Send(setup)
//	for m, err := p.Receive(); err == nil; m, err = p.Receive() { ... }
//	p.Await()
//
// A process ends with the launcher, and with the launcher's lease. What it started ends
// with it.
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
	// queueMax is how many messages may wait for a worker that does not read; one
	// that lets more gather hangs, and is killed.
	queueMax = 4096
	// goneWait is how long the socket of a dead worker may stay open.
	goneWait = 500 * time.Millisecond
	// farewellWait is how long an idle worker may take to end itself.
	farewellWait = 2 * time.Second
)

// Command says what to start.
type Command struct {
	Program string
	Env     []string // all of it, but the mark
	Dir     string
	Mark    proctree.Mark // in the environment of all that it starts; no other process has it
	Way     suspend.Way   // how it is stopped and continued, and kept within limits
	Limits  cgroup.Limits // of it and of all that it starts, where the Way has groups with limits
	// Processors is the list of those that it is kept to from its start, of the Way's; "": of all.
	Processors string
	// Step, with its first arguments, is what becomes the worker by carrying out Order,
	// which then has program and folder. None: the process is the launcher's user's.
	Step  []string
	Order *sandboxinit.Order
}

// Process is one worker's process. Its methods are safe for concurrent use, but Receive
// and Await, which one goroutine calls.
type Process struct {
	cmd   *exec.Cmd
	conn  *ipc.Conn
	pipe  *logs.Pipe
	lease *lease.Lease
	log   *slog.Logger
	// blocked are the system calls that the kernel refuses it; nil where it does not tell.
	blocked     *seccomp.Blocked
	toldBlocked sync.Once
	refused     refusals // those of the attempt that it runs

	queue   chan *wire.ToWorker // what it has not read yet, at most queueMax
	gone    chan struct{}       // closed when the process has ended
	ended   chan struct{}       // closed when what it started has, too
	killing sync.Once           // its number may be another's once it is gone

	starved cgroup.Starvation // why the kernel ended it, for want of memory; known once it is gone
	most    int64             // what it might hold then

	// Tree is what is stopped and continued when its attempt is suspended.
	Tree *suspend.Tree
}

// Start starts a process and takes in what it prints. The caller goes on with Receive.
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
		mark = "" // the first of a namespace is above all in it, and they end with it: nobody is to be looked for
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
		queue: make(chan *wire.ToWorker, queueMax), gone: make(chan struct{}), ended: make(chan struct{}),
		Tree: tree,
	}
	l.Covers(cmd.Process)
	if blocked != nil {
		p.blocked = blocked
		go blocked.Each(p.reportBlocked)
	}
	go pipe.Run()
	go p.write()
	go p.wait()
	return p, nil
}

// PID is its process id, which may be another's once the process is gone.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Gone closes when the process has ended.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Ended closes when what the process started has ended, too, as far as it can be killed.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// State says how the process ended, once it is gone.
func (p *Process) State() *os.ProcessState { return p.cmd.ProcessState }

// Starved says whether the kernel ended it, or what it started, for want of memory, at whose
// limit, and what its own was, once it is gone. Without limits the kernel does not say.
func (p *Process) Starved() (s cgroup.Starvation, most int64) { return p.starved, p.most }

// LogTo has what it prints from now on go to another log, or with nil to none. What it
// printed before goes where it belongs.
func (p *Process) LogTo(log *logs.Log) { p.pipe.SwitchTo(log) }

// BeginAttempt is LogTo for an attempt that begins.
func (p *Process) BeginAttempt(log *logs.Log) {
	p.refused.clear()
	p.LogTo(log)
}

// Refused says which system calls the kernel refused the attempt that it runs, for a failure of
// that; "" if it refused none.
func (p *Process) Refused() string { return p.refused.text() }

// LastWords is the end of the log that it prints to.
func (p *Process) LastWords() string { return p.pipe.Last() }

// reportBlocked says in the log of the attempt, and in the launcher's, that the kernel refused
// a call.
func (p *Process) reportBlocked(call string) {
	if !p.refused.add(call) {
		return
	}
	p.toldBlocked.Do(func() {
		p.log.Info("an isolated worker made a system call that is refused; its log names all such calls", "pid", p.PID(), "call", call)
	})
	p.pipe.Say(fmt.Sprintf("launcher: the system call %s was refused, as it is to isolated workers; launcher.isolation.calls lists those that are allowed all the same\n", call))
}

// Send queues a message. One that lets too many gather is killed; then it is false.
func (p *Process) Send(m *wire.ToWorker) bool {
	select {
	case p.queue <- m:
		return true
	case <-p.gone:
		return true // its end says all
	default:
	}
	p.log.Warn("a worker does not read what it is sent and is killed", "pid", p.PID(), "waiting", queueMax)
	go p.Kill()
	return false
}

// write sends what is queued until the process is gone.
func (p *Process) write() {
	for {
		select {
		case m := <-p.queue:
			if p.conn.Send(m) != nil {
				return // the reader sees the same and ends the worker
			}
		case <-p.gone:
			return
		}
	}
}

// Receive waits for the next message. After an error there is no further one: Await
// follows. An error that is a *vetting.Offence says what the worker may not send.
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

// Await waits for the end of a process that has lost its socket, and kills it if that
// takes long: without its socket a worker is no use.
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

// Close gives up what it still prints. It follows Await, and the last words.
func (p *Process) Close() { p.pipe.Close() }

// wait notices the end of the process, however it comes.
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

// Dismiss asks a worker that has nothing to do to end itself, and kills it if it does not.
func (p *Process) Dismiss() {
	p.Send(&wire.ToWorker{Do: &wire.ToWorker_Exit{Exit: true}})
	p.KillAfter(farewellWait)
}

// KillAfter kills the process after a while, unless it has ended before.
func (p *Process) KillAfter(d time.Duration) { time.AfterFunc(d, p.Kill) }

// Kill ends the process and all that it started. It may wait for the system.
func (p *Process) Kill() {
	p.killing.Do(func() {
		select {
		case <-p.gone:
			return // its number may be another's by now; wait sees to its children
		default:
		}
		if err := p.Tree.Kill(); err != nil {
			p.log.Warn("can't kill a worker", "pid", p.PID(), "error", err)
		}
	})
}

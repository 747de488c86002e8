package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/channel/store"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/internal/failure"
	"github.com/hamadryad/hamadryad/engine/worker/ipc"
	"github.com/hamadryad/hamadryad/engine/worker/layout"
	"github.com/hamadryad/hamadryad/internal/process/proctree"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// Variable is set to 1 in the environment of workers alone.
const Variable = "HAMADRYAD_WORKER"

// Exit codes of a worker, for the launcher's log.
const (
	ExitDone     = 0  // ended by the launcher's command
	ExitOrphan   = 70 // the launcher is gone or silent
	ExitProtocol = 71 // garbled messages on the socket
	ExitStuck    = 72 // a program did not return after its attempt
)

// Main runs a worker process. It never returns. reuse: the process may run groups of one job after
// those of another.
func Main(defs []job.Definition, reuse bool) {
	// Orphaned descendants become children of this process, so that the end of a group finds them.
	// Where that is not permitted, they are found by their mark.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	os.Unsetenv(Variable)
	conn, err := ipc.Inherited()
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(ExitProtocol)
	}
	w := &worker{reports: reportsTo(conn.Send, unfit), conn: conn, defs: defs, reuse: reuse}
	os.Exit(w.serve())
}

// worker is the process. Its fields belong to the goroutine of serve, unless their comments say
// otherwise.
type worker struct {
	reports
	conn  *ipc.Conn // any goroutine may send
	defs  []job.Definition
	reuse bool
	setup *wire.WorkerSetup // of the current job

	built   chan struct{}  // closed when the graph was built, or failed to build
	layout  *layout.Layout // valid after built is closed; nil: the build failed
	fetcher *store.Fetcher
	keys    *certs.Keys // nil: connections are plain
	tickets tickets

	group      atomic.Pointer[group] // the running group; nil between two
	processors processors
	watchdog   *watchdog
}

// serve handles messages until the end, and returns the exit code.
func (w *worker) serve() int {
	for {
		m := &wire.ToWorker{}
		if err := w.conn.Recv(m); err != nil {
			return w.broken(err)
		}
		if m.GetExit() {
			w.end()
			return ExitDone
		}
		if err := w.handleMessage(m); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			w.end()
			return ExitProtocol
		}
	}
}

// broken ends the worker after its socket failed.
func (w *worker) broken(err error) int {
	w.end()
	if errors.Is(err, ipc.ErrGarbled) {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return ExitProtocol
	}
	if !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, "worker: lost its launcher:", err)
	}
	return ExitOrphan
}

// unfit ends the worker after a report could not be sent.
func unfit(err error) {
	fmt.Fprintln(os.Stderr, "worker: can't tell the launcher what became of an attempt:", err)
	killDescendants()
	os.Exit(ExitProtocol)
}

// end kills the processes that the worker's programs started.
func (w *worker) end() { killDescendants() }

// handleMessage handles one message.
func (w *worker) handleMessage(m *wire.ToWorker) error {
	if s := m.GetSetup(); s != nil {
		return w.setUp(s)
	}
	if w.setup == nil {
		return errors.New("a message came before the setup")
	}
	g := w.group.Load()
	switch do := m.Do.(type) {
	case *wire.ToWorker_Run:
		return w.run(do.Run)
	case *wire.ToWorker_Tickets:
		return w.tickets.keep(do.Tickets)
	case *wire.ToWorker_Ping:
		w.watchdog.fed(do.Ping.LeaseEndsNs)
	case *wire.ToWorker_Credentials:
		w.renew(do.Credentials)
	case *wire.ToWorker_Peers:
		if g.is(do.Peers.Attempt) {
			g.meet(do.Peers)
		}
	case *wire.ToWorker_Sources:
		if g.is(do.Sources.Attempt) {
			g.update(do.Sources.Sources, do.Sources.Groups, do.Sources.Confirm)
		}
	case *wire.ToWorker_Files:
		if g.is(do.Files.Attempt) {
			g.finisher.takeFiles(do.Files)
		}
	case *wire.ToWorker_Stop:
		if g.is(do.Stop.Attempt) {
			g.stop.request(time.Duration(do.Stop.GraceNs))
		}
	case *wire.ToWorker_Commit:
		if g.is(do.Commit.Attempt) {
			g.commit.setVerdict(do.Commit)
		}
	}
	return nil
}

// setUp starts to build the job's graph on another goroutine than serve's: a large plan takes
// seconds, and unread pings would end the lease meanwhile. A failure is reported; the launcher then
// ends this process.
func (w *worker) setUp(s *wire.WorkerSetup) error {
	if w.setup != nil {
		return w.setUpNext(s)
	}
	w.setup = s
	w.watchdog = startWatchdog(time.Duration(s.LeaseNs), s.LeaseEndsNs)
	reach, err := credentialsOf(s)
	if err != nil {
		return err
	}
	w.keys = reach
	if w.tickets, err = ticketsOf(s); err != nil {
		return err
	}
	w.fetcher = store.NewFetcher(fetching(reach))
	w.built = make(chan struct{})
	go w.tick()
	go w.build(s, w.built)
	return nil
}

// setUpNext sets an idle worker up for another job. Of the job before it keeps the lease, the
// credentials and nothing else.
func (w *worker) setUpNext(s *wire.WorkerSetup) error {
	if !w.reuse || w.group.Load() != nil {
		return errors.New("a second setup")
	}
	w.processors.restoreAll()
	w.fetcher.Close()
	w.fetcher = store.NewFetcher(fetching(w.keys))
	before, built := w.built, make(chan struct{})
	w.setup, w.built = s, built
	go func() {
		<-before
		if w.layout != nil {
			w.layout.RestoreEnvironment()
		}
		w.build(s, built)
	}()
	return nil
}

// build builds a job's graph, and closes built.
func (w *worker) build(s *wire.WorkerSetup, built chan struct{}) {
	ready := &wire.WorkerReady{SourceGroups: true}
	var l *layout.Layout
	err := errBuilderGoexit
	defer func() { w.isBuilt(l, err, ready, built) }() // also if the builder ends this goroutine
	l, err = layout.Build(w.defs, s)
}

// errBuilderGoexit is the error of a builder that ended its goroutine.
var errBuilderGoexit = errors.New("the job's builder called runtime.Goexit (as the Fatal and FailNow of a test do), so it did not return: return an error")

// isBuilt reports to the launcher whether the graph was built, and lets groups begin.
func (w *worker) isBuilt(l *layout.Layout, err error, ready *wire.WorkerReady, built chan struct{}) {
	if err != nil {
		ready.Failure = &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_INVALID, Message: failure.Bounded(err.Error())}
		if failure.IsLost(err) {
			ready.Failure.Kind = wire.ErrorKind_ERROR_KIND_LOST
		}
	}
	if err == nil && l.Large() {
		debug.FreeOSMemory() // the memory of building counts against the nodes'
	}
	ready.Reusable = err == nil && w.reuse && !l.FlagsSet()
	w.layout = l
	// The goroutine of serve sees a failure of this send, too. Ready precedes all reports of a
	// group.
	_ = w.conn.Send(&wire.FromWorker{What: &wire.FromWorker_Ready{Ready: ready}})
	close(built)
}

// run runs a group on a goroutine of its own, once the graph is built.
func (w *worker) run(r *wire.RunGroup) error {
	if w.group.Load() != nil {
		return fmt.Errorf("attempt-%d came while another runs", r.GetStart().GetAttempt())
	}
	g, built := newGroup(w, r), w.built
	w.group.Store(g)
	go func() {
		<-built
		if w.layout == nil {
			return // the launcher learns of the failure by the WorkerReady
		}
		g.run()
	}()
	return nil
}

// killDescendants kills every process that this one's programs left, and reaps those that have
// ended.
func killDescendants() {
	for range descendantRounds {
		pids := proctree.Descendants()
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		if !collect() && len(pids) == 0 {
			return
		}
	}
}

// descendantRounds bounds how often killDescendants looks again for processes that were started
// meanwhile.
const descendantRounds = 100

// collect reaps children that have ended, and reports whether there were any. It is called only
// while no command of the group runs.
func collect() bool {
	any := false
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if pid <= 0 && !errors.Is(err, unix.EINTR) {
			return any
		}
		any = true
	}
}

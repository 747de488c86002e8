package launcher

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/engine/isolate/cgroup"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/process"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/vetting"
	"github.com/hamadryad/hamadryad/engine/wire"
	program "github.com/hamadryad/hamadryad/engine/worker"
)

// workerKey identifies the attempts that can share a worker, one after the other.
type workerKey struct {
	job           uint64
	user          string
	program, plan string
	fingerprint   string
}

// ofNoJob is the key of a reusable worker whose job is over.
func (k workerKey) ofNoJob() workerKey { return workerKey{user: k.user, program: k.program} }

func keyOf(s *wire.StartAttempt) workerKey {
	return workerKey{s.Job, s.User, s.Program, s.Plan, string(s.Fingerprint)}
}

// worker is a process that runs attempts, one after the other. The agent's lock guards the fields
// after Process.
type worker struct {
	*process.Process
	key workerKey // of all attempts of its current job
	dir *workDir
	of  uint64 // generation of the launcher's keys from which its credentials were made

	tickets []byte   // its job's Kerberos ticket cache, as last sent to it; nil: it was started without
	current *attempt // the attempt that it runs; nil between two
	leaving bool     // it is ending, and is assigned nothing more
	sender  vetting.Sender
	groups  bool      // its program takes sources in groups
	rested  time.Time // when it became idle
	given   time.Time // when it got its attempt

	memory   int64 // limit of the attempt with which its process was started
	reusable bool  // its program lets it be set up for another job
	jobs     int   // for how many it was set up
	// keptToJob: it is not set up for another job, because an attempt failed in it or raised its limit
	// of memory, which the kernel never lowers again.
	keptToJob bool

	devices    held   // that it holds until its end
	processors string // the list to which it was last pinned; "": none
}

// newWorker returns a worker for a process that was started for an attempt, which is not assigned
// yet.
func newWorker(p *process.Process, s *wire.StartAttempt, at *workDir, of uint64, tickets []byte, on string, holds held) *worker {
	return &worker{Process: p, key: keyOf(s), dir: at, of: of, memory: s.Memory, tickets: tickets, processors: on, devices: holds}
}

// setUp has the worker build a job's graph.
func (w *worker) setUp(s *wire.WorkerSetup) {
	w.jobs++
	w.reusable = false // until it says so of this job
	w.sender.SetUp()
	w.sendMessage(&wire.ToWorker{Do: &wire.ToWorker_Setup{Setup: s}})
}

// carry sends the worker newer tickets, which it writes to its file itself, as its own user.
func (w *worker) carry(tickets []byte) {
	if w.tickets != nil && !bytes.Equal(w.tickets, tickets) && len(tickets) > 0 {
		w.tickets = tickets
		w.sendMessage(&wire.ToWorker{Do: &wire.ToWorker_Tickets{Tickets: tickets}})
	}
}

// sendMessage sends the worker a message. A worker that does not read is killed, and not used
// again. A program that has not said yet that it takes sources in groups gets them one by one.
func (w *worker) sendMessage(m *wire.ToWorker) {
	if !w.groups {
		m = wire.Ungrouped(m)
	}
	if !w.Send(m) {
		w.leaving = true
	}
}

// raisedBy reports whether an attempt's limit of memory, in bytes, raises the worker's; 0: none.
func (w *worker) raisedBy(memory int64) bool {
	return w.memory > 0 && (memory == 0 || memory > w.memory)
}

// listens reports whether the worker reads its messages: a suspended worker does not.
func (w *worker) listens() bool { return w.current == nil || !w.current.suspension.Wanted() }

// leave kills the worker. It may still have an attempt.
func (w *worker) leave() {
	w.leaving = true
	go w.Kill()
}

// dismiss asks the worker to exit. It has no attempt.
func (w *worker) dismiss() {
	w.leaving = true
	w.Dismiss()
}

// release unassigns the worker's attempt.
func (w *worker) release() {
	w.LogTo(nil)
	w.current.worker = nil
	w.current = nil
}

// endFailure returns why the worker ended unexpectedly. starved says that the system has just
// killed something because memory ran out.
func (w *worker) endFailure(at *attempt, broken error, starved bool) *wire.Failure {
	if f := at.memory.Excess(); f != nil {
		return f
	}
	if f := at.timeout.failure(); f != nil {
		return f
	}
	if o := (*vetting.Offence)(nil); errors.As(broken, &o) {
		return o.Failure()
	}
	state := w.State()
	f := &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: "the worker ended: " + state.String()}
	status, _ := state.Sys().(syscall.WaitStatus)
	killed := status.Signaled() && status.Signal() == syscall.SIGKILL
	who, most := w.Starved()
	switch {
	case killed && who == cgroup.OverMax:
		f = at.memory.RanOut(most)
	case killed && (who == cgroup.OverElse || who == cgroup.Unknown && starved):
		f = at.memory.Starved(state)
	case killed:
		f.Message += "; something killed it"
	case status.Exited() && (status.ExitStatus() == program.ExitOrphan || status.ExitStatus() == program.ExitProtocol):
	default:
		f.Kind = wire.ErrorKind_ERROR_KIND_PROGRAM
		f.Message += "; the program ended its process"
	}
	if refused := w.Refused(); refused != "" {
		f.Message += "; " + refused
	}
	if last := w.LastWords(); last != "" {
		f.Message += "; the end of its log:\n" + last
	}
	return f
}

const (
	// workerJobsMax is for how many jobs a worker is set up before it ends.
	workerJobsMax = 1000
	// workerReuseMemoryMax is the most memory, in bytes, that an idle worker may hold to be set up for
	// another job.
	workerReuseMemoryMax = 256 << 20
)

// workers are the launcher's worker processes. The agent's lock guards them.
type workers struct {
	idleMax int // how many may be idle: the number of slots

	all  map[*worker]bool
	idle []*worker // idle ones, longest idle first; none is leaving
}

func newWorkers(idleMax int) *workers { return &workers{idleMax: idleMax, all: map[*worker]bool{}} }

// add adds a worker that has just started.
func (ws *workers) add(w *worker) { ws.all[w] = true }

// has reports whether a worker has not ended.
func (ws *workers) has(w *worker) bool { return ws.all[w] }

// remove forgets a worker that has ended.
func (ws *workers) remove(w *worker) {
	delete(ws.all, w)
	ws.unrest(w)
}

// takeIdle takes the most recently idle worker that fits an attempt; nil if there is none.
func (ws *workers) takeIdle(key workerKey) *worker {
	for i := len(ws.idle) - 1; i >= 0; i-- {
		if w := ws.idle[i]; w.key == key {
			ws.idle = append(ws.idle[:i], ws.idle[i+1:]...)
			return w
		}
	}
	return nil
}

// takeReusable takes the most recently idle worker of another job that can be set up for an attempt;
// nil if there is none. It has the attempt's key then.
func (ws *workers) takeReusable(s *wire.StartAttempt) *worker {
	for i := len(ws.idle) - 1; i >= 0; i-- {
		w := ws.idle[i]
		if w.reusable && w.jobs < workerJobsMax && !w.keptToJob && w.tickets == nil && w.memory == s.Memory && w.key.ofNoJob() == keyOf(s).ofNoJob() {
			ws.idle = append(ws.idle[:i], ws.idle[i+1:]...)
			w.key = keyOf(s)
			return w
		}
	}
	return nil
}

// rest keeps an idle worker for its job's next group. If too many are idle, the one that is idle
// for longest is dismissed.
func (ws *workers) rest(w *worker) {
	w.rested = time.Now()
	if ws.idle = append(ws.idle, w); len(ws.idle) > ws.idleMax {
		ws.dismissFirst()
	}
}

// dismissOld ends workers that have been idle for too long.
func (ws *workers) dismissOld(now time.Time, wait time.Duration) {
	for len(ws.idle) > 0 && now.Sub(ws.idle[0].rested) > wait {
		ws.dismissFirst()
	}
}

func (ws *workers) dismissFirst() {
	first := ws.idle[0]
	ws.idle = ws.idle[1:]
	first.dismiss()
}

// unrest removes a worker from the idle list, if it is there.
func (ws *workers) unrest(w *worker) {
	for i, other := range ws.idle {
		if other == w {
			ws.idle = append(ws.idle[:i], ws.idle[i+1:]...)
			return
		}
	}
}

// drop ends the workers of a job, and returns them. Those that are idle and reusable stay.
func (ws *workers) drop(job uint64) (leaving []*worker) {
	for w := range ws.all {
		if w.key.job != job {
			continue
		}
		if w.reusable && slices.Contains(ws.idle, w) {
			w.key = w.key.ofNoJob()
			continue
		}
		leaving = append(leaving, w)
		ws.unrest(w)
		if w.current == nil && !w.leaving {
			w.dismiss()
			continue
		}
		w.leave()
	}
	return leaving
}

// dropAll ends all workers, and returns them.
func (ws *workers) dropAll() (leaving []*worker) {
	ws.idle = nil
	for w := range ws.all {
		w.leave()
		leaving = append(leaving, w)
	}
	return leaving
}

// each lists all workers, in no order.
func (ws *workers) each() []*worker { return slices.Collect(maps.Keys(ws.all)) }

// count is the number of workers.
func (ws *workers) count() int { return len(ws.all) }

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

// workerKey says which attempts can share a worker, one after the other.
type workerKey struct {
	job           uint64
	user          string
	program, plan string
	fingerprint   string
}

func keyOf(s *wire.StartAttempt) workerKey {
	return workerKey{s.Job, s.User, s.Program, s.Plan, string(s.Fingerprint)}
}

// worker is a process that runs attempts, one after the other. What follows the process
// is guarded by the agent's lock.
type worker struct {
	*process.Process
	key workerKey // of all that it may run
	dir *workDir
	of  uint64 // generation of the launcher's keys that its credentials are of

	tickets []byte   // Kerberos ticket cache of its job that it has; nil: it was started without
	current *attempt // that it runs; nil between two
	leaving bool     // it ends, and is given nothing more
	sender  vetting.Sender
	rested  time.Time // when it came to have nothing to do

	processors string // list of those that it was told to keep to; "": none was told
}

// newWorker is a process that was started for an attempt and has none yet.
func newWorker(p *process.Process, s *wire.StartAttempt, at *workDir, of uint64, tickets []byte, on string) *worker {
	return &worker{Process: p, key: keyOf(s), dir: at, of: of, tickets: tickets, processors: on}
}

// carry gives it newer tickets, which it keeps in its file itself, as its own user.
func (w *worker) carry(tickets []byte) {
	if w.tickets != nil && !bytes.Equal(w.tickets, tickets) && len(tickets) > 0 {
		w.tickets = tickets
		w.sendMessage(&wire.ToWorker{Do: &wire.ToWorker_Tickets{Tickets: tickets}})
	}
}

// sendMessage sends it a message. A worker that does not read is killed, and not used again.
func (w *worker) sendMessage(m *wire.ToWorker) {
	if !w.Send(m) {
		w.leaving = true
	}
}

// listens tells whether it reads what it is told: one that stands still doesn't.
func (w *worker) listens() bool { return w.current == nil || !w.current.suspension.Wanted() }

// leave ends it at once. It may still have an attempt.
func (w *worker) leave() {
	w.leaving = true
	go w.Kill()
}

// dismiss has it end itself. It has no attempt.
func (w *worker) dismiss() {
	w.leaving = true
	w.Dismiss()
}

// release takes its attempt from it.
func (w *worker) release() {
	w.LogTo(nil)
	w.current.worker = nil
	w.current = nil
}

// endFailure says how it ended, which it should not have. Starved says that the system has
// just killed something because memory ran out.
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

// workers are the launcher's processes. The agent's lock guards them.
type workers struct {
	idleMax int // how many may wait for work: as many as there are slots

	all  map[*worker]bool
	idle []*worker // those that wait, of all, longest first; none is leaving
}

func newWorkers(idleMax int) *workers { return &workers{idleMax: idleMax, all: map[*worker]bool{}} }

// add takes in a worker that has just started.
func (ws *workers) add(w *worker) { ws.all[w] = true }

// has says whether a worker has not ended.
func (ws *workers) has(w *worker) bool { return ws.all[w] }

// remove forgets one that has ended.
func (ws *workers) remove(w *worker) {
	delete(ws.all, w)
	ws.unrest(w)
}

// takeIdle finds an idle worker for an attempt, the one that rests shortest; nil if there is none.
func (ws *workers) takeIdle(key workerKey) *worker {
	for i := len(ws.idle) - 1; i >= 0; i-- {
		if w := ws.idle[i]; w.key == key {
			ws.idle = append(ws.idle[:i], ws.idle[i+1:]...)
			return w
		}
	}
	return nil
}

// rest keeps a worker for its job's next group. When too many wait, the one that has
// waited longest is dismissed.
func (ws *workers) rest(w *worker) {
	w.rested = time.Now()
	if ws.idle = append(ws.idle, w); len(ws.idle) > ws.idleMax {
		ws.dismissFirst()
	}
}

// dismissOld ends workers that have waited too long for another group.
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

// unrest takes a worker off the idle list, if it is there.
func (ws *workers) unrest(w *worker) {
	for i, other := range ws.idle {
		if other == w {
			ws.idle = append(ws.idle[:i], ws.idle[i+1:]...)
			return
		}
	}
}

// drop ends the workers of a job, and returns them.
func (ws *workers) drop(job uint64) (leaving []*worker) {
	for w := range ws.all {
		if w.key.job != job {
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

// each lists all, in no order.
func (ws *workers) each() []*worker { return slices.Collect(maps.Keys(ws.all)) }

// count is how many there are.
func (ws *workers) count() int { return len(ws.all) }

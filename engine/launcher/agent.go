package launcher

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/hamadryad/hamadryad/engine/isolate"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/cache"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/datadir"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/lease"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/logs"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/logshipper"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/memory"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/outputstore"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/reportqueue"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/suspend"
	"github.com/hamadryad/hamadryad/engine/launcher/reaper"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
	"github.com/hamadryad/hamadryad/internal/process/proctree"
)

// agent manages the launcher's attempts: it carries out the manager's commands and takes in the
// workers' reports. Nothing under mu waits for a disk or a network, because heartbeats need mu.
// Locks of the packages that the agent uses are taken under mu, never the other way round.
type agent struct {
	cfg        Config
	log        *slog.Logger
	metrics    *metrics
	logs       *logs.Logs
	logShipper *logshipper.Queue
	reports    *reportqueue.Queue
	outputs    *outputstore.Store
	lease      *lease.Lease
	memory     *memory.Watch
	starter    *workerStarter
	dataDir    *datadir.Dir
	reaper     *reaper.Reaper
	divider    *divider // nil: users share processors
	devices    *devices
	endpoints

	leftovers *leftovers

	ctx context.Context // of the whole launcher

	viewers *viewers
	probe   *probe

	mu             sync.Mutex
	incarnationCtx context.Context // ends with the incarnation
	endIncarnation context.CancelFunc
	attempts       *attempts
	workers        *workers
	tickets        map[uint64][]byte // Kerberos ticket caches of jobs, until they are dropped
}

// newAgent makes the agent of a launcher without attempts, workers or stored files.
func newAgent(ctx context.Context, cfg Config, f *datadir.Dir, manager *grpc.ClientConn, at endpoints, m *metrics, w suspend.Way, g *isolate.Guard) (*agent, error) {
	incarnation, err := f.Incarnation()
	if err != nil {
		return nil, err
	}
	programs, err := cache.New(cfg.Cache, cfg.CacheBytes, fetchBlob(rpc.NewLaunchersClient(manager)))
	if err != nil {
		return nil, err
	}
	box, l := reportqueue.New(incarnation), lease.New()
	printed, err := logs.New(logs.Options{
		Folder: f.Logs(), Each: cfg.LogBytes, Total: cfg.LogTotal, Count: cfg.LogCount, KeepFor: cfg.LogKeepFor,
		OnUnkept: func(n int64) { m.logUnkept.Add(float64(n)) },
	})
	if err != nil {
		return nil, err
	}
	stored := outputstore.New(f.Store(), cfg.Log)
	left := newLeftovers(cfg.Log, ctx.Done())
	a := &agent{
		leftovers: left,
		cfg:       cfg, log: cfg.Log, metrics: m, dataDir: f, ctx: ctx, reports: box, lease: l, divider: newDivider(cfg, w, g != nil), endpoints: at,
		logs:       printed,
		logShipper: logshipper.New(sendTails(rpc.NewLaunchersClient(manager), cfg.Name), cfg.Log),
		viewers:    newViewers(rpc.NewLaunchersClient(manager)),
		outputs:    stored,
		memory:     memory.NewWatch(w.Limits()),
		starter:    newWorkerStarter(cfg, f, box, l, programs, w, stored, g, left),
		reaper:     reaper.New(cfg.Reaper, proctree.Mark(f.Mark()), w.Folder(), cfg.Log),
		attempts:   newAttempts(),
		devices:    newDevices(cfg),
		workers:    newWorkers(cfg.slotsTotal()),
		tickets:    map[uint64][]byte{},
	}
	a.probe = newProbe(func() { a.counts() })
	a.incarnationCtx, a.endIncarnation = context.WithCancel(ctx)
	return a, nil
}

// obey carries out one command of the manager, unless the command is stale.
func (a *agent) obey(c *wire.Command) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.reports.Admits(c) {
		a.metrics.stale.Inc()
		return
	}
	switch do := c.Do.(type) {
	case *wire.Command_Start:
		a.startAttempt(do.Start)
	case *wire.Command_Peers:
		a.pass(do.Peers.Attempt, &wire.ToWorker{Do: &wire.ToWorker_Peers{Peers: do.Peers}})
	case *wire.Command_Sources:
		a.pass(do.Sources.Attempt, &wire.ToWorker{Do: &wire.ToWorker_Sources{Sources: do.Sources}})
	case *wire.Command_Files:
		a.pass(do.Files.Attempt, &wire.ToWorker{Do: &wire.ToWorker_Files{Files: do.Files}})
	case *wire.Command_Commit:
		a.pass(do.Commit.Attempt, &wire.ToWorker{Do: &wire.ToWorker_Commit{Commit: do.Commit}})
	case *wire.Command_Stop:
		a.stop(do.Stop)
	case *wire.Command_Suspend:
		a.suspend(do.Suspend, true)
	case *wire.Command_Resume:
		a.suspend(do.Resume, false)
	case *wire.Command_Forget:
		a.forget(do.Forget)
	case *wire.Command_DropJob:
		a.dropJob(do.DropJob)
	case *wire.Command_DropOutput:
		a.outputs.Drop(do.DropOutput.Attempt)
	case *wire.Command_Tickets:
		a.takeTickets(do.Tickets)
	case *wire.Command_ReportInventory:
		a.reports.Send(&wire.Report{What: &wire.Report_Inventory{Inventory: a.inventory()}})
	default:
		a.log.Warn("the manager sent a command that this launcher does not know; are both of one release?")
	}
}

// has returns the launcher's inventory, and the largest attempt id that the manager had it start.
func (a *agent) has() (inventory *wire.Inventory, seen uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.inventory(), a.attempts.seen
}

// inventory lists attempts and stored outputs in order of id. It also lists every job that has an
// attempt, a worker, or files here, including files that are being removed. The caller holds mu.
func (a *agent) inventory() *wire.Inventory {
	jobs := a.outputs.Jobs()
	for _, at := range a.attempts.sorted() {
		jobs = append(jobs, at.start.Job)
	}
	for _, w := range a.workers.each() {
		if w.key.job != 0 {
			jobs = append(jobs, w.key.job)
		}
	}
	slices.Sort(jobs)
	return &wire.Inventory{Attempts: a.attempts.inventory(), Stored: a.outputs.Stored(), Jobs: slices.Compact(jobs)}
}

// joined records the manager's identity and term, and queues every report that the manager may have
// missed.
func (a *agent) joined(manager string, term uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reports.JoinManager(manager, term)
	for _, at := range a.attempts.toResend() {
		a.resend(at)
	}
}

// resend queues the reports of an attempt that the manager may have missed. The caller holds mu.
func (a *agent) resend(at *attempt) {
	send := a.reports.Send
	if at.record.HasSuccessor() {
		send = a.reports.SendSoon
	}
	for _, r := range at.record.Unacknowledged(at.suspension.Suspended()) {
		send(r)
	}
}

// resendOld reports an attempt's end again if the manager has not answered it within resendEvery.
func (a *agent) resendOld(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, at := range a.attempts.overdue(now) {
		a.resend(at)
	}
}

// fence drops all attempts, outputs and tickets of this incarnation. It waits until every worker is
// gone.
func (a *agent) fence() {
	a.mu.Lock()
	a.endIncarnation()
	a.reports.Disconnect()
	a.attempts.clear()
	a.outputs.Clear()
	clear(a.tickets)
	a.mu.Unlock()
	a.endWorkers()
}

// newIncarnation begins another incarnation, with no attempts, workers or outputs.
func (a *agent) newIncarnation(incarnation uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reports.NewIncarnation(incarnation)
	a.incarnationCtx, a.endIncarnation = context.WithCancel(a.ctx)
}

// shutdown ends the last incarnation. No worker is left then.
func (a *agent) shutdown() {
	a.mu.Lock()
	a.endIncarnation()
	a.mu.Unlock()
	a.endWorkers()
	a.reaper.Close()
}

// endWorkers kills every worker, and waits until they and all their child processes are gone.
func (a *agent) endWorkers() {
	a.mu.Lock()
	leaving := a.workers.dropAll()
	a.mu.Unlock()
	for _, w := range leaving {
		<-w.Ended()
	}
}

// dismissIdle ends workers that waited longer than IdleMax for another group.
func (a *agent) dismissIdle(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.workers.dismissOld(now, a.cfg.IdleMax)
}

// ping sends the workers the end of the launcher's lease, which is the end of their own lease, too.
// Suspended workers are not pinged, because they can't read it.
func (a *agent) ping() {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ends := a.lease.Terms()
	for _, w := range a.workers.each() {
		if w.listens() {
			w.sendMessage(&wire.ToWorker{Do: &wire.ToWorker_Ping{Ping: &wire.Ping{LeaseEndsNs: ends}}})
		}
	}
}

// counts returns the numbers of running attempts, suspended attempts, and workers.
func (a *agent) counts() (running, suspended, workers int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	running, suspended = a.attempts.counts()
	return running, suspended, a.workers.count()
}

// logOf returns the log of an attempt that runs here or wrote something.
func (a *agent) logOf(id uint64) (*logs.Log, bool) {
	a.mu.Lock()
	at := a.attempts.find(id)
	a.mu.Unlock()
	if at != nil {
		return at.log, true
	}
	return a.logs.Find(id)
}

// logsKeptEvery is the time between two checks for logs that are too old.
const logsKeptEvery = time.Minute

// keepLogs removes logs that are too old.
func (a *agent) keepLogs(ctx context.Context) {
	t := time.NewTicker(logsKeptEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			a.logs.KeepBounds()
		case <-ctx.Done():
			return
		}
	}
}

// watchMemory ends attempts that hold more memory than they may.
func (a *agent) watchMemory(ctx context.Context) {
	t := time.NewTicker(memory.Every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		attempts, roots, kept, idle := a.watched()
		for i, held := range a.memory.Measure(roots, idle) {
			a.holds(attempts[i], roots[i].PID, held)
		}
		for _, k := range kept {
			if held, known := k.tree.Holds(); known {
				a.holds(k.attempt, k.pid, held)
			}
		}
	}
}

// watched returns the attempts whose memory is checked: those that have reported their start.
// Before that, the worker may still hold memory that an earlier, larger attempt was allowed.
// Attempts that finish a job run no user program, and are left out. kept are attempts that the
// kernel limits to the same bytes: the kernel is asked for their memory, because walking their
// processes takes time from other tenants. idle is true when there is no worker at all.
func (a *agent) watched() (attempts []*attempt, roots []memory.Root, kept []keptByKernel, idle bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.workers.each() {
		if at := w.current; at != nil && at.record.Started() && at.memory.Memory() > 0 && at.start.Finish == nil && !at.suspension.Suspended() {
			if w.Tree.KeepsTo(memory.Most(at.memory.Memory())) {
				kept = append(kept, keptByKernel{at, w.PID(), w.Tree})
				continue
			}
			attempts = append(attempts, at)
			roots = append(roots, memory.Root{PID: w.PID(), Memory: at.memory.Memory()})
		}
	}
	return attempts, roots, kept, a.workers.count() == 0
}

// keptByKernel is an attempt whose memory the kernel limits to what the attempt may hold.
type keptByKernel struct {
	attempt *attempt
	pid     int
	tree    *suspend.Tree
}

// holds notes an attempt's memory, and ends the attempt when that is too much. Where the kernel
// enforces the same limit, the launcher leaves that to the kernel, which counts more exactly.
func (a *agent) holds(at *attempt, pid int, held int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := at.worker
	switch {
	case w == nil || w.PID() != pid || at.over():
	case w.Tree.KeepsTo(memory.Most(at.memory.Memory())):
		at.memory.Saw(held)
	case at.memory.Note(held):
		w.leave()
	}
}

// divideProcessors keeps users apart on the machine's processors.
func (a *agent) divideProcessors(ctx context.Context) {
	if a.divider != nil {
		a.divider.run(ctx, a.divide)
	}
}

// divide redistributes the processors among the users who have work now, and moves their workers.
// It returns when to do so again.
func (a *agent) divide(now time.Time) time.Duration {
	moves, again := a.divided(now)
	for w, to := range moves {
		a.use(w, to)
	}
	return again
}

// divided returns the workers that are to move, and their new processors.
func (a *agent) divided(now time.Time) (moves map[*worker]string, again time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	work := map[string]int{}
	for _, w := range a.workers.each() {
		if at := w.current; at != nil && !at.suspension.Suspended() {
			work[w.key.user] += max(int(at.start.Slots), 1)
		}
	}
	again = a.divider.redivide(now, work)
	moves = map[*worker]string{}
	for _, w := range a.workers.each() {
		if to := a.divider.other(w.key.user, w.processors); to != "" {
			w.processors, moves[w] = to, to // also where the move fails: it is not retried
		}
	}
	return moves, again
}

// useUserProcessors moves a worker that is about to run something to its user's processors. The
// caller holds mu.
func (a *agent) useUserProcessors(w *worker) {
	if to := a.divider.other(w.key.user, w.processors); to != "" {
		w.processors = to
		a.use(w, to)
	}
	a.divider.grows()
}

// use sets the processors on which a worker runs.
func (a *agent) use(w *worker, list string) {
	if err := w.Tree.Use(list); err != nil {
		a.log.Warn("a worker stays on the processors that it had", "pid", w.PID(), "processors", list, "error", err)
	}
}

package launcher

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// agent is the launcher's state. Its methods do what the manager commands and what
// workers report; nothing that waits happens under mu, for disks and networks least
// of all: heartbeats need it.
type agent struct {
	cfg     Config
	log     *slog.Logger
	folder  *folder
	cache   *cache
	logs    *logs
	metrics *metrics
	near    *neighbours
	machine *machine
	kills   *kills

	dataAddress, httpAddress string
	logReaders               atomic.Int32
	lease                    *lease

	ctx context.Context // of the whole launcher

	mu          sync.Mutex
	incarnation uint64
	life        context.Context // ends with the incarnation
	endLife     context.CancelFunc
	term        uint64 // largest seen
	manager     string // identity of the manager's data; "" before the first welcome
	attempts    map[uint64]*attempt
	procs       map[*proc]bool
	idle        []*proc // least lately used first
	stored      map[uint64]*storedOutputs
	seen        uint64          // largest attempt that it was told to start
	dropped     map[uint64]bool // jobs that it was told to drop; true: nothing is left of them
	outbox      []*wire.Report
	connected   bool          // the outbox goes somewhere
	wake        chan struct{} // tells the sender that the outbox has something
	nudge       chan struct{} // tells who talks to the manager that the lease ran out
	procNumber  uint64
	resent      time.Time // when old ends were last looked for
}

// attempt is one that the manager asked for and has not told to forget.
type attempt struct {
	start       *wire.StartAttempt
	proc        *proc // nil before it has a worker and after the end
	log         *attemptLog
	early       []*wire.ToWorker // what came before it had a worker; at most earlyMax
	started     *wire.AttemptStarted
	lost        map[lostKey]*wire.InputLost // asked for and not seen again
	lostKeys    []lostKey
	asksCommit  bool
	filesWanted uint64 // number of the file that it asked for and was not told; 0: none
	stopped     bool   // by command: its end is no failure
	frozen      bool   // what the manager wants
	suspended   bool   // what is
	clock       runClock
	peak        int64              // bytes that its processes were seen to hold
	excess      *wire.Failure      // why it is being killed: it holds too much
	ended       *wire.AttemptEnded // nil while it runs; kept until forgotten
	endedAt     time.Time          // when the report was last sent
}

type lostKey struct {
	connection, from uint32
}

// earlyMax bounds what is kept for a worker that is starting.
const earlyMax = 10_000

// runClock measures running time net of suspension.
type runClock struct {
	ran   time.Duration
	since time.Time // zero while it stands
}

func (c *runClock) run() {
	if c.since.IsZero() {
		c.since = time.Now()
	}
}

func (c *runClock) stand() {
	c.ran = c.total()
	c.since = time.Time{}
}

func (c *runClock) total() time.Duration {
	if c.since.IsZero() {
		return c.ran
	}
	return c.ran + time.Since(c.since)
}

// storedOutputs are the stored channel files of a finished attempt.
type storedOutputs struct {
	job   uint64
	token string
}

// newAgent makes the state of a launcher that knows nothing yet.
func newAgent(ctx context.Context, cfg Config, f *folder) *agent {
	a := &agent{
		cfg: cfg, log: cfg.Log, folder: f, ctx: ctx,
		logs:     newLogs(f.logs(), cfg.LogBytes, cfg.LogTotal),
		machine:  newMachine(ctx),
		kills:    newKills(),
		lease:    newLease(),
		wake:     make(chan struct{}, 1),
		nudge:    make(chan struct{}),
		attempts: map[uint64]*attempt{}, procs: map[*proc]bool{},
		stored: map[uint64]*storedOutputs{}, dropped: map[uint64]bool{},
	}
	a.metrics = newMetrics(a)
	a.logs.onUnkept = func(n int64) { a.metrics.logUnkept.Add(float64(n)) }
	a.life, a.endLife = context.WithCancel(ctx)
	return a
}

// send queues a report. Without a connection it is dropped: joining anew
// reports all that still matters. The caller holds mu.
func (a *agent) send(r *wire.Report) {
	if !a.connected {
		return
	}
	r.Incarnation, r.Term = a.incarnation, a.term
	a.outbox = append(a.outbox, r)
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// take returns the next queued reports, at most max, and no more than fit into one
// message.
func (a *agent) take(max int) []*wire.Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, bytes := 0, 0
	for n < min(len(a.outbox), max) {
		bytes += proto.Size(a.outbox[n]) + reportRoom
		if n > 0 && bytes > wire.LauncherMessageBytesMax/2 {
			break
		}
		n++
	}
	out := a.outbox[:n:n]
	if a.outbox = a.outbox[n:]; len(a.outbox) == 0 {
		a.outbox = nil
	}
	return out
}

// reportRoom is what a report takes in a message beside itself, at most.
const reportRoom = 8

// obey does what one command says, unless it is stale.
func (a *agent) obey(c *wire.Command) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.Term < a.term || c.Incarnation != a.incarnation {
		a.metrics.stale.Inc()
		return
	}
	a.term = c.Term
	switch do := c.Do.(type) {
	case *wire.Command_Start:
		a.begin(do.Start)
	case *wire.Command_Peers:
		a.pass(do.Peers.Attempt, &wire.ToWorker{Do: &wire.ToWorker_Peers{Peers: do.Peers}})
	case *wire.Command_Sources:
		a.passSources(do.Sources)
	case *wire.Command_Files:
		a.passFiles(do.Files)
	case *wire.Command_Commit:
		a.pass(do.Commit.Attempt, &wire.ToWorker{Do: &wire.ToWorker_Commit{Commit: do.Commit}})
	case *wire.Command_Stop:
		a.stop(do.Stop)
	case *wire.Command_Suspend:
		a.freeze(do.Suspend, true)
	case *wire.Command_Resume:
		a.freeze(do.Resume, false)
	case *wire.Command_Forget:
		a.forget(do.Forget)
	case *wire.Command_DropJob:
		a.dropJob(do.DropJob)
	case *wire.Command_DropOutput:
		a.dropOutput(do.DropOutput)
	case *wire.Command_ReportInventory:
		a.send(&wire.Report{What: &wire.Report_Inventory{Inventory: a.inventory()}})
	default:
		a.log.Warn("the manager sent a command that this launcher does not know; are both of one release?")
	}
}

// inventory lists what there is, in order of id. The caller holds mu.
func (a *agent) inventory() *wire.Inventory {
	var attempts []*wire.AttemptInventory
	for id, at := range a.attempts {
		state := wire.AttemptInventory_STATE_RUNNING
		if at.suspended {
			state = wire.AttemptInventory_STATE_SUSPENDED
		}
		if at.ended != nil {
			state = wire.AttemptInventory_STATE_ENDED
		}
		attempts = append(attempts, &wire.AttemptInventory{Attempt: id, State: state})
	}
	slices.SortFunc(attempts, func(x, y *wire.AttemptInventory) int { return compare(x.Attempt, y.Attempt) })
	var stored []*wire.Stored
	for id, s := range a.stored {
		stored = append(stored, &wire.Stored{Job: s.job, Attempt: id})
	}
	slices.SortFunc(stored, func(x, y *wire.Stored) int { return compare(x.Attempt, y.Attempt) })
	return &wire.Inventory{Attempts: attempts, Stored: stored, Jobs: a.jobs()}
}

// jobs lists the jobs of which there is anything: an attempt, a worker, or files,
// also those that are being removed. The caller holds mu.
func (a *agent) jobs() []uint64 {
	jobs := map[uint64]bool{}
	for _, at := range a.attempts {
		jobs[at.start.Job] = true
	}
	for p := range a.procs {
		jobs[p.key.job] = true
	}
	for _, s := range a.stored {
		jobs[s.job] = true
	}
	for id, gone := range a.dropped {
		if !gone {
			jobs[id] = true
		}
	}
	return slices.Sorted(maps.Keys(jobs))
}

func compare(x, y uint64) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// resendAll queues everything that the manager may not know: after joining. The
// caller holds mu.
func (a *agent) resendAll() {
	ids := make([]uint64, 0, len(a.attempts))
	for id := range a.attempts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		a.resend(a.attempts[id])
	}
}

func (a *agent) resend(at *attempt) {
	if at.ended != nil {
		a.sendEnded(at)
		return
	}
	if at.started != nil {
		a.send(&wire.Report{What: &wire.Report_Started{Started: at.started}})
	}
	if at.suspended {
		a.send(&wire.Report{What: &wire.Report_Suspended{Suspended: at.start.Attempt}})
	}
	for _, k := range at.lostKeys {
		a.send(&wire.Report{What: &wire.Report_InputLost{InputLost: at.lost[k]}})
	}
	if at.filesWanted != 0 {
		a.send(&wire.Report{What: &wire.Report_FilesWanted{FilesWanted: &wire.FilesWanted{Attempt: at.start.Attempt, From: at.filesWanted}}})
	}
	if at.asksCommit {
		a.send(&wire.Report{What: &wire.Report_Commit{Commit: at.start.Attempt}})
	}
}

func (a *agent) sendEnded(at *attempt) {
	at.endedAt = time.Now()
	a.send(&wire.Report{What: &wire.Report_Ended{Ended: at.ended}})
}

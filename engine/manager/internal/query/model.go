package query

import (
	"context"
	"sync"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/idmap"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Bounds of the kept and shown data.
type Bounds struct {
	JobsKept     int // ended ones; at least 1
	AttemptsKept int // ended ones that the status of a live job shows: the newest
	// AttemptsMax is how many ended attempts of a live job are kept; 0: AttemptsMaxDefault. Beyond
	// it the oldest finished ones are dropped first, then the oldest of all.
	AttemptsMax int
}

// AttemptsMaxDefault is the default of Bounds.AttemptsMax: some 150 MB for a job that has so many.
const AttemptsMaxDefault = 1_000_000

// Model answers queries of people and programs. Safe for concurrent use.
type Model struct {
	queue queue

	mu        sync.RWMutex
	bounds    Bounds
	revision  uint64 // of the last applied batch
	jobsAt    uint64 // the revision of the last change of a job
	machines  uint64 // the same of launchers
	decides   uint64 // generation of the policy
	announced [2]scheduler.JobID
	stats     core.Stats
	began     core.Stats // counts at the model's creation
	decisions decisions
	live      idmap.Index[scheduler.JobID, job]
	ended     []*endedJob // in order of their ends
	endedByID map[scheduler.JobID]*endedJob
	launchers idmap.Index[scheduler.LauncherID, launcher]
	up        int // launchers
	closed    int // of these, drained or excluded ones
	slots     map[string]count
	users     map[string]changes.User // with live jobs and a limit
	waked     chan struct{}           // closed at the next change; nil: nothing waits
}

// endedJob is the kept data of an ended job.
type endedJob struct {
	status  *wire.JobStatus
	changed uint64 // the revision
	came    int    // attempts, while it lived; 0: that was before the model
	// span is the smallest and the largest number of its attempts; if it lived before the model the
	// smallest is unknown, and 0.
	span [2]scheduler.AttemptID
}

// launcher is a known launcher, or one of which only attempts are known.
type launcher struct {
	row  *changes.Launcher // nil: none came
	live []onLauncher      // attempts, in any order; each knows its place
	ends []End             // the newest, in their order; at least as many as are kept
}

// End is the end of an attempt.
type End struct {
	Job     scheduler.JobID
	Attempt scheduler.AttemptID
	Stage   int32 // and Index: of its group's first node, as facts.Attempt has them
	Index   int32
	At      scheduler.Time
	Outcome scheduler.AttemptOutcome
}

// endsKept is how many ends of attempts are kept for each launcher.
const endsKept = 20

// onLauncher is a live attempt on a launcher.
type onLauncher struct {
	attempt scheduler.AttemptID
	job     *job
}

// NewModel returns a model of all data of a core. Close ends its goroutine. On that goroutine, each
// also is called with every applied batch, and must not change it.
func NewModel(b Bounds, all core.Changes, also ...func(core.Changes)) *Model {
	m := &Model{began: all.Stats, endedByID: map[scheduler.JobID]*endedJob{}, slots: map[string]count{}, users: map[string]changes.User{}}
	m.Bound(b)
	take := func(f core.Changes) {
		m.apply(f)
		for _, do := range also {
			do(f)
		}
	}
	take(all)
	m.queue.init(take)
	return m
}

// Bound changes the bounds. Data beyond new bounds is dropped when more comes.
func (m *Model) Bound(b Bounds) {
	if b.AttemptsMax == 0 {
		b.AttemptsMax = AttemptsMaxDefault
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bounds = b
}

// Enqueue queues the changes of a step; steps come in order. The model becomes the owner. It
// returns at once, but when more than queueRowsMax rows wait it blocks until there is room: memory
// is bounded, at the price of later answers. After Close it does nothing.
func (m *Model) Enqueue(f core.Changes) { m.queue.enqueue(f) }

// Waits is how many rows are queued and not applied, and above how many Enqueue blocks.
func (m *Model) Waits() (rows, most int) { return m.queue.waits(), queueRowsMax }

// Close applies the queued rows, and ends the model's goroutine. Reads go on.
func (m *Model) Close() { m.queue.close() }

// read waits until all rows queued before are applied, and calls look.
func (m *Model) read(ctx context.Context, look func()) error {
	if err := m.queue.awaitApplied(ctx); err != nil {
		return err
	}
	m.readLocked(look)
	return nil
}

// readLocked calls look while nothing changes.
func (m *Model) readLocked(look func()) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	look()
}

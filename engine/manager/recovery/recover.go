// Package recovery makes checkpoints of the core, and brings a core back from the event log. It
// serves a manager that starts, and a checkpoint that is made from a file of the log.
//
//	l, err := recovery.Open(ctx, data, log, options, settings, graphs, key.Token, history)
//	maker := &recovery.CheckpointMaker{FreezeMax: max, Graphs: graphs, Log: logger, Stats: stats}
//	err = maker.Rotate(ctx, l.Core, log) // when a file of the log is full
//
// # Invariants
//
// A file is replayed as it was decided, or not at all. That takes the same version of the core, and
// each graph that the file names. Each life has a higher term, and later times, than all before. If
// a checkpoint can't be made, the log stays unchanged, and the current file continues.
//
// Each segment of the log begins with the core's version and a checkpoint of its whole state, so it
// replays alone. Only the same version replays its batches. Another version takes over from the
// checkpoint of a clean stop, and never decides old inputs again.
//
// # Graphs
//
// A graph of more than a mebibyte is kept beside the log (GraphStore), and the log has its hash. It
// is durable before the log names it, and stays while a file of the log may name it.
//
// # Checkpoints
//
// When a segment of the log is full, the next one is made in the background. Meanwhile records
// become durable in the current file. They are copied behind the checkpoint before the new file
// takes its place. A checkpoint is written in parts, each with its checksum, and has no bound.
// There are two ways, with equal bytes:
//
//   - A small state is frozen and written by another goroutine (core.Freeze). The core stands still
//     while it freezes: arrays are copied, live objects are walked.
//   - A larger state is not touched. The current file has a checkpoint and each batch since. A
//     process of low priority ("hamadryad checkpoint") replays it on a core of its own, and writes
//     that core's state.
//
// manager.eventLog.freezeMax (5 ms) is the limit between the two, by the estimate of
// core.FreezeTime. It is reached at some 20,000 bundles or 5,000 launchers. The second way costs
// several times the processor time of the core's own steps, on another processor, because
// checkpoint and batches are decoded again. It also takes the memory of a second core. The system
// ends that process first when memory runs out. A million tasks, half of them ended since, took 15
// s and 3 GB ("hamadryad-bench steps").
//
// A replay that fails, or that falls behind, does no harm: the current file goes on. The core is
// frozen after all when three fail in a row, or when the file is four times as long as a full one.
// The log says so. Metrics show how long checkpoints took, how they were made, and how long the
// core stood still.
package recovery

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/dataformat"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Life is the state that a manager begins with.
type Life struct {
	Core     *core.Core
	Identity string // of the data, the same in all lives
	Term     uint64 // larger than in any life before, including those that the log lost
	Clock    Clock
	// New says that no life of this data has begun: its log is new, or ends before its first step.
	New bool
	// JobsAbove is the largest known number of a job of earlier data, for Opening; 0: none.
	JobsAbove uint64
	began     scheduler.Time // when the data was new
	age       time.Duration  // of the data at the start of this life
	jobsKnown bool           // no earlier life gave a job above jobsGiven; else the age gives the bound
	jobsGiven uint64
}

// Tokens makes the token for a bundle attempt's data connections from its number.
type Tokens = func(run uint64) []byte

// Clock gives times that never go back, also across restarts of the manager: it continues from the
// last logged time when the machine's clock is behind.
type Clock struct {
	base  scheduler.Time
	start time.Time
}

func newClock(last scheduler.Time) Clock {
	now := time.Now()
	return Clock{base: max(scheduler.Time(now.UnixNano()), last+1), start: now}
}

// Now is the time.
func (c Clock) Now() scheduler.Time { return c.base.Add(time.Since(c.start)) }

// Listener gets the state of a restored core, and its repeated decisions.
type Listener interface {
	// BeginAt gets the whole state after a record, and Replay the changes of each later one.
	BeginAt(record uint64, all *core.Changes)
	Replay(record uint64, actions []core.Action)
	// Replayed ends it: this record is the last. The log may drop all of them when it returns.
	Replayed(ctx context.Context, last uint64)
}

// Restore brings the core to its state at the end of the last life. The actions of replayed batches
// are not repeated: they were done, or their cause was never sent, and what matters of them is sent
// again when launchers join. A listener gets them; it may be nil.
func Restore(s *eventlog.Segment, settings core.Settings, kept *GraphStore, tokens Tokens, hears Listener) (*Life, error) {
	if s == nil {
		l := &Life{Core: core.New(settings), Identity: rand.Text(), Term: core.Term(0, 0), Clock: newClock(0), New: true}
		l.began = l.Clock.base
		l.Core.GraphsFrom(kept.Load)
		l.Core.TokensFrom(tokens)
		return l, nil
	}
	if err := readable(s); err != nil {
		return nil, err
	}
	r := NewReplay(s.Path, kept)
	if err := r.Restore(s.Checkpoint); err != nil {
		return nil, err
	}
	r.Core.TokensFrom(tokens)
	if hears != nil {
		r.listen(hears, s.First-1)
	}
	for i, record := range s.Records {
		if err := r.Step(s.First+uint64(i), record); err != nil {
			return nil, err
		}
	}
	l := &Life{Core: r.Core, Identity: s.Header.Identity, New: r.Core.Term() == 0}
	l.Clock = newClock(max(r.last, scheduler.Time(s.Header.Created)))
	l.began = scheduler.Time(cmp.Or(s.Header.Began, s.Header.Created))
	l.age = max(l.Clock.base.Sub(l.began), 1)
	l.Term = core.Term(max(s.Header.Term, l.Core.Term()), l.age)
	return l, nil
}

// Replay is a core that replays a file of the log.
type Replay struct {
	file string
	kept *GraphStore
	Core *core.Core
	last scheduler.Time // of the newest record

	hears Listener // nil: no listener
}

// NewReplay begins a replay of a file of the log, with the graphs that it names.
func NewReplay(file string, kept *GraphStore) *Replay { return &Replay{file: file, kept: kept} }

// Restore begins with the checkpoint at the file's beginning.
func (r *Replay) Restore(checkpoint [][]byte) (err error) {
	if r.Core, err = core.RestoreParts(checkpoint, r.kept.Load); err != nil {
		return fmt.Errorf("event log file %s: its checkpoint can't be restored: %w", r.file, err)
	}
	return nil
}

// Step takes the next record.
func (r *Replay) Step(number uint64, record []byte) error {
	batch, err := r.DecodeBatch(number, record)
	if err != nil {
		return err
	}
	actions := r.StepBatch(batch)
	if r.hears != nil {
		r.hears.Replay(number, actions)
	}
	return nil
}

// listen has a listener get the state at a record, and all later steps.
func (r *Replay) listen(hears Listener, record uint64) {
	r.hears = hears
	r.Core.EnableChanges()
	all := r.Core.AllChanges()
	hears.BeginAt(record, &all)
}

// DecodeBatch reads the batch of a record, and checks that the data for deciding it again is there.
func (r *Replay) DecodeBatch(number uint64, record []byte) (*wire.Batch, error) {
	batch := &wire.Batch{}
	if err := proto.Unmarshal(record, batch); err != nil {
		return nil, fmt.Errorf("event log file %s: record %d is no batch: %w", r.file, number, err)
	}
	for _, in := range batch.Inputs { // a decision made with a graph is not repeated without it
		if hash := in.GetSubmit().GetSpec().GetGraphBlob(); hash != "" {
			if err := r.kept.Check(hash); err != nil {
				return nil, fmt.Errorf("event log file %s: record %d names a graph that is not in %s: put it back there: %w", r.file, number, r.kept.Folder, err)
			}
		}
	}
	return batch, nil
}

// StepBatch decides a batch again, and returns its actions.
func (r *Replay) StepBatch(batch *wire.Batch) []core.Action {
	r.last = scheduler.Time(batch.At)
	return r.Core.Step(batch)
}

// Follow continues with the next file.
func (r *Replay) Follow(file string) { r.file = file }

// Open restores the core from the log that Lock returned for a data folder, and begins a new term.
// If an earlier life accepted work, it waits for room on a full disk: a manager that gave up would
// lose that work. A listener gets the restored steps; it may be nil. After an error the caller
// closes the log.
func Open(ctx context.Context, data string, log *eventlog.Log, o eventlog.Options, settings core.Settings, kept *GraphStore, tokens Tokens, hears Listener) (*Life, error) {
	s := log.Recovered()
	l, err := Restore(s, settings, kept, tokens, hears)
	if err == nil && hears != nil {
		last := uint64(0)
		if s != nil {
			last = s.Next() - 1
		}
		hears.Replayed(ctx, last)
	}
	if err == nil {
		h := eventlog.Header{Core: core.Version, Identity: l.Identity, Term: l.Term, Began: int64(l.began)}
		kept.KeepOnly(l.Core.GraphBlobs())
		err = patiently(ctx, o, l.age > 0, func() error {
			if err := dataformat.Mark(data, dataName, versions()); err != nil {
				return err
			}
			return log.Begin(h, l.Core.WriteCheckpoint)
		})
	}
	return l, err
}

const (
	roomTryAgain = time.Second      // between checks whether a full disk has room
	roomLogEach  = 10 * time.Second // between log lines about it
)

// patiently begins a log, and waits on a full disk until there is room or ctx ends.
func patiently(ctx context.Context, o eventlog.Options, wait bool, begin func() error) error {
	var logged time.Time
	stalled := false
	for {
		err := begin()
		if err == nil || !wait || !eventlog.IsFull(err) {
			if stalled {
				o.OnStall(nil)
			}
			return err
		}
		if o.OnStall != nil && !stalled {
			stalled = true
			o.OnStall(err)
		}
		if time.Since(logged) >= roomLogEach {
			logged = time.Now()
			o.Log.Error("the manager can't begin: the event log's disk is full; it waits for room, and work that runs goes on until the lease ends",
				"error", err, "remedy", "free space there", "folder", o.Folder)
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(roomTryAgain):
		}
	}
}

// Opening are the first inputs of a term.
func (l *Life) Opening(settings core.Settings) []*wire.Input {
	settings.Identity = l.Identity
	return []*wire.Input{
		wire.NewInput(&wire.SiteSettings{Json: settings.JSON()}),
		wire.NewInput(&wire.ManagerStart{Term: l.Term, AgeNs: int64(l.age), JobsAbove: l.JobsAbove, JobsKnown: l.jobsKnown, JobsGiven: l.jobsGiven}),
	}
}

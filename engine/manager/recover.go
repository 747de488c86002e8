package manager

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
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// life is what a manager begins with.
type life struct {
	core     *core.Core
	identity string // of the data, the same in all lives
	term     uint64 // larger than in any life before, also in those that the log lost
	clock    clock
	began    scheduler.Time // when the data was new
	age      time.Duration  // of the data at the start of this life
}

// restore brings the core to where it was when the last life ended. The actions
// of replayed batches are not done again: they were done, or their cause never
// got out, and what matters of them is sent again when launchers join.
func restore(s *eventlog.Segment, settings core.Settings, kept *graphs) (*life, error) {
	if s == nil {
		l := &life{core: core.New(settings), identity: rand.Text(), term: core.Term(0, 0), clock: newClock(0)}
		l.began = l.clock.base
		l.core.GraphsFrom(kept.load)
		return l, nil
	}
	if s.Header.Core != core.Version && len(s.Records) > 0 {
		return nil, fmt.Errorf("event log file %s was written by version %d of the core, and this is version %d, which may not decide about what that one has seen: "+
			"start the old program once more on this data and stop it with SIGTERM, so that it leaves a clean end", s.Path, s.Header.Core, core.Version)
	}
	r := &replay{file: s.Path, kept: kept}
	if err := r.restore(s.Checkpoint); err != nil {
		return nil, err
	}
	for i, record := range s.Records {
		if err := r.step(s.First+uint64(i), record); err != nil {
			return nil, err
		}
	}
	l := &life{core: r.core, identity: s.Header.Identity}
	l.clock = newClock(max(r.last, scheduler.Time(s.Header.Created)))
	l.began = scheduler.Time(cmp.Or(s.Header.Began, s.Header.Created))
	l.age = max(l.clock.base.Sub(l.began), 1)
	l.term = core.Term(max(s.Header.Term, l.core.Term()), l.age)
	return l, nil
}

// replay is a core that goes through a file of the log again.
type replay struct {
	file string
	kept *graphs
	core *core.Core
	last scheduler.Time // of the newest record
}

func (r *replay) restore(checkpoint [][]byte) (err error) {
	if r.core, err = core.RestoreParts(checkpoint, r.kept.load); err != nil {
		return fmt.Errorf("event log file %s: its checkpoint can't be restored: %w", r.file, err)
	}
	return nil
}

func (r *replay) step(number uint64, record []byte) error {
	batch := &wire.Batch{}
	if err := proto.Unmarshal(record, batch); err != nil {
		return fmt.Errorf("event log file %s: record %d is no batch: %w", r.file, number, err)
	}
	for _, in := range batch.Inputs { // what was decided with a graph is not decided without
		if hash := in.GetSubmit().GetSpec().GetGraphBlob(); hash != "" {
			if err := r.kept.check(hash); err != nil {
				return fmt.Errorf("event log file %s: record %d names a graph that is not in %s: put it back there: %w", r.file, number, r.kept.folder, err)
			}
		}
	}
	r.core.Step(batch)
	r.last = scheduler.Time(batch.At)
	return nil
}

// open restores the core from the data folder and begins a new term. Where there is
// work that an earlier life took it waits for room on a full disk: a manager that
// gave up would lose it.
func open(ctx context.Context, o eventlog.Options, settings core.Settings, kept *graphs) (*eventlog.Log, *life, error) {
	log, err := eventlog.Open(o)
	if err != nil {
		return nil, nil, err
	}
	l, err := restore(log.Recovered(), settings, kept)
	if err == nil {
		h := eventlog.Header{Core: core.Version, Identity: l.identity, Term: l.term, Began: int64(l.began)}
		kept.keep(l.core.GraphBlobs())
		err = patiently(ctx, o, l.age > 0, func() error { return log.Begin(h, l.core.WriteCheckpoint) })
	}
	if err != nil {
		return nil, nil, errors.Join(err, log.Close())
	}
	return log, l, nil
}

const (
	roomTryAgain = time.Second      // between looks whether a full disk has room
	roomTellEach = 10 * time.Second // between lines that say so
)

// patiently begins a log, and waits on a full disk until there is room or ctx ends.
func patiently(ctx context.Context, o eventlog.Options, wait bool, begin func() error) error {
	var told time.Time
	for {
		err := begin()
		if err == nil || !wait || !eventlog.IsFull(err) {
			return err
		}
		if time.Since(told) >= roomTellEach {
			told = time.Now()
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

// opening are the first inputs of a term.
func (l *life) opening(settings core.Settings) []*wire.Input {
	settings.TokenSeed = l.identity
	return []*wire.Input{
		wire.NewInput(&wire.SiteSettings{Json: settings.JSON()}),
		wire.NewInput(&wire.ManagerStart{Term: l.term, AgeNs: int64(l.age)}),
	}
}

// numberBits is how many numbers a life gives to callers, to starts of the policy and
// to its settings, before they reach those of a later term.
const numberBits = 24

// number makes one that no other life gives.
func number(term, n uint64) uint64 { return term<<numberBits | n }

// Number takes a number apart that a manager gave, such as a policy's generation: the
// term of the life that gave it, and how many that life had given with it.
func Number(of uint64) (term, n uint64) { return of >> numberBits, of & (1<<numberBits - 1) }

package manager

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/engine/manager/recovery"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// batchInputsMax bounds one step, so that a flood does not delay the effects of its first
	// inputs.
	batchInputsMax = 2048
	// batchBytesMax bounds one step by bytes: it gathers at most that and one entry.
	batchBytesMax = 16 << 20
	// gatherWait bounds how long a step waits, while the policy decides a round, for more than its
	// first input. What arrives then can't be asked about before the answer anyhow; together it
	// shares one step, one record of the log, one round and one message.
	gatherWait = 500 * time.Microsecond
	// idleMax is the longest sleep without an input.
	idleMax = time.Minute
)

// driver owns the core. Only run touches it.
type driver struct {
	core   *core.Core
	log    *eventlog.Log
	synced *durableQueue
	clock  recovery.Clock
	inbox  *inbox.Inbox

	asked       bool                 // a round was asked, and its answer was not yet an input
	ask         func(core.AskPolicy) // gives a round to the policy
	noted       func(core.AskPolicy) // notifies the policy's shell that a round with notes is durable; must not block
	early       *earlyStarts
	atOnce      func(core.Action)                        // does what need not wait for the disk; must not block
	keep        func(record uint64, later []core.Action) // has history take the durable record; must not block
	durable     func(core.Action)                        // does the rest; must not block
	stats       *metrics.Metrics
	opened      func(*core.Core) // called when the core has taken in the opening of this life
	graphs      *recovery.GraphStore
	checkpoints *recovery.CheckpointMaker
}

// run drives the core until ctx ends or the log fails. The opening of this life is the first step,
// before all entries of the inbox. Launchers and clients may have come already; without the
// opening, their messages would be decided as if the last life still went on.
func (d *driver) run(ctx context.Context, opening []*wire.Input) error {
	defer d.inbox.End()
	if err := d.feed(&wire.Batch{At: int64(d.clock.Now()), Inputs: opening}); err != nil {
		return err
	}
	d.opened(d.core)
	timer := time.NewTimer(0)
	defer timer.Stop()
	var entries []inbox.Entry
	for {
		entries = entries[:0]
		select {
		case <-ctx.Done():
			return nil
		case e := <-d.inbox.Next():
			entries = append(entries, e)
		case <-timer.C:
		}
		first := time.Now()
		entries = d.drain(d.gather(entries, timer))
		if len(entries) > 0 {
			d.stats.Gathered(time.Since(first))
		}
		if err := d.step(ctx, entries); err != nil {
			return err
		}
		d.inbox.Taken(entries)
		timer.Reset(d.untilWake())
	}
}

// full reports whether a step has enough inputs.
func full(entries []inbox.Entry) bool {
	inputs, bytes := 0, int64(0)
	for _, e := range entries {
		inputs += len(e.Inputs)
		bytes += e.Bytes
	}
	return inputs >= batchInputsMax || bytes >= batchBytesMax
}

// gather adds what arrives while the policy decides a round, up to gatherWait. Its answer ends the
// wait: slots are idle until it is carried out.
func (d *driver) gather(entries []inbox.Entry, timer *time.Timer) []inbox.Entry {
	if !d.asked || len(entries) == 0 {
		return entries
	}
	timer.Reset(gatherWait)
	for !isAnswer(entries[len(entries)-1]) && !full(entries) {
		select {
		case e := <-d.inbox.Next():
			entries = append(entries, e)
		case <-timer.C:
			return entries
		}
	}
	return entries
}

// isAnswer reports whether an entry is the policy's answer to a round.
func isAnswer(e inbox.Entry) bool {
	return len(e.Inputs) > 0 && e.Inputs[0].GetPolicyAnswer() != nil
}

// drain takes the other waiting entries, without blocking.
func (d *driver) drain(entries []inbox.Entry) []inbox.Entry {
	for !full(entries) {
		select {
		case e := <-d.inbox.Next():
			entries = append(entries, e)
		default:
			return entries
		}
	}
	return entries
}

func (d *driver) untilWake() time.Duration {
	wake, ok := d.core.NextWake()
	if !ok {
		return idleMax
	}
	return min(max(wake.Sub(d.clock.Now()), 0), idleMax)
}

// step feeds one batch to the core: the entries' inputs, and a tick when it is due.
func (d *driver) step(ctx context.Context, entries []inbox.Entry) error {
	batch := &wire.Batch{At: int64(d.clock.Now())}
	for _, e := range entries {
		if drafted := d.core.Expect(e.Draft); !drafted && e.Graph != "" {
			if err := d.graphs.Check(e.Graph); err != nil {
				d.refuse(e.Inputs[0], wire.ErrorKind_ERROR_KIND_INTERNAL, fmt.Sprintf("the job's graph can't be read any more: %v", err))
				continue
			}
		}
		if isAnswer(e) {
			d.asked = false
		}
		if e.Decisions != nil {
			d.core.ExpectAnswer(e.Inputs[0].GetPolicyAnswer(), *e.Decisions)
		}
		batch.Inputs = append(batch.Inputs, e.Inputs...)
	}
	if wake, ok := d.core.NextWake(); ok && int64(wake) <= batch.At {
		batch.Inputs = append(batch.Inputs, wire.Tick())
	}
	if err := d.feed(batch); err != nil {
		return err
	}
	seq := d.log.Last()
	for _, e := range entries {
		if e.Query == nil {
			continue
		}
		d.stats.CoreRead()
		if then := e.Query(d.core); then != nil {
			d.synced.add(seq, then)
			d.log.Hurry()
		}
	}
	if d.log.Full() {
		return d.checkpoints.Rotate(ctx, d.core, d.log)
	}
	return nil
}

// recordBytesMax is the largest record that a step may make; a test lowers it.
var recordBytesMax = eventlog.RecordBytesMax

// feed gives a batch to the core as one step, or as several when one record of the log could not
// hold it. An input that alone is too large, or can't be written, is refused. The bounds of outside
// messages allow no such input, and none must end the manager.
func (d *driver) feed(batch *wire.Batch) error {
	if len(batch.Inputs) == 0 {
		return nil
	}
	record, err := proto.Marshal(batch)
	switch {
	case err == nil && len(record) <= recordBytesMax:
		return d.decide(batch, record)
	case err != nil && len(batch.Inputs) == 1: // a text in it is not UTF-8
		d.refuse(batch.Inputs[0], wire.ErrorKind_ERROR_KIND_INVALID, fmt.Sprintf("the request can't be written into the manager's event log: %v", err))
		return nil
	case len(batch.Inputs) == 1:
		d.refuse(batch.Inputs[0], wire.ErrorKind_ERROR_KIND_INVALID,
			fmt.Sprintf("the request takes %d bytes in the manager's event log, at most %d are possible: send less at once", len(record), recordBytesMax))
		return nil
	}
	half := len(batch.Inputs) / 2
	for _, part := range [][]*wire.Input{batch.Inputs[:half], batch.Inputs[half:]} {
		if err := d.feed(&wire.Batch{At: batch.At, Inputs: part}); err != nil {
			return err
		}
	}
	return nil
}

// decide steps the core, logs the batch and sees to the actions.
func (d *driver) decide(batch *wire.Batch, record []byte) error {
	start := time.Now()
	ask := d.core.Decide(batch)
	if ask != nil {
		d.asked = true
		d.ask(*ask)
	}
	actions := d.core.Effects()
	d.stats.Step(time.Since(start), len(batch.Inputs))
	later, starts := actions[:0:0], 0
	for _, a := range actions {
		if _, talks := a.(core.StartPolicy); talks {
			d.atOnce(a)
		} else if start, early := d.early.start(a); early {
			d.atOnce(start)
			starts++
		} else {
			later = append(later, a)
		}
	}
	seq, err := d.log.Append(record)
	if err != nil {
		return err
	}
	if starts > 0 {
		d.synced.add(seq, func() { d.early.synced(starts) })
	}
	hurried := slices.ContainsFunc(later, awaited)
	if hurried {
		d.log.Hurry()
	}
	if len(later) > 0 {
		decided := time.Now()
		d.synced.add(seq, func() {
			if hurried {
				d.stats.DecidedDurably(time.Since(decided))
			}
			d.keep(seq, later)
			for _, a := range later {
				d.durable(a)
				d.early.acted(a)
			}
		})
	}
	if ask != nil && hasNotes(ask.Round) {
		d.synced.add(seq, func() { d.noted(*ask) })
		d.log.Hurry()
	}
	return nil
}

// hasNotes reports whether a round has notes. A shell acts on them once they are durable.
func hasNotes(r *scheduler.Round) bool {
	return slices.ContainsFunc(r.Events, func(e scheduler.Event) bool {
		_, note := e.(scheduler.Noted)
		return note
	})
}

// refuse answers the client of an input that the core must not take.
func (d *driver) refuse(in *wire.Input, kind wire.ErrorKind, why string) {
	d.durable(core.LogLine{Level: core.Error, Message: "an input was refused: " + why})
	if client := clientOf(in); client != 0 {
		d.durable(core.Reply{Client: client, Failure: &wire.Failure{Kind: kind, Message: why}})
	}
}

// clientOf is the client that waits for the answer to an input; 0: none.
func clientOf(in *wire.Input) uint64 {
	switch w := in.What.(type) {
	case *wire.Input_Prepare:
		return w.Prepare.GetClient()
	case *wire.Input_Submit:
		return w.Submit.GetClient()
	case *wire.Input_KillJob:
		return w.KillJob.GetClient()
	case *wire.Input_RetryElements:
		return w.RetryElements.GetClient()
	case *wire.Input_UpdateJob:
		return w.UpdateJob.GetClient()
	case *wire.Input_Drain:
		return w.Drain.GetClient()
	case *wire.Input_Request:
		return w.Request.GetClient()
	case *wire.Input_AddSchedule:
		return w.AddSchedule.GetClient()
	case *wire.Input_ChangeSchedule:
		return w.ChangeSchedule.GetClient()
	case *wire.Input_TakeRun:
		return w.TakeRun.GetClient()
	case *wire.Input_EndRun:
		return w.EndRun.GetClient()
	}
	return 0
}

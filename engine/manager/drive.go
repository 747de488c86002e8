package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// inboxMax is how many entries wait for the core before who brings more has to
	// wait: launchers' streams, callers and the policy are held up, nothing is lost.
	inboxMax = 1024
	// inboxBytesMax bounds what waits for the core by bytes, in the same way. One
	// entry has at most as much as a record of the log.
	inboxBytesMax = 128 << 20
	// batchInputsMax bounds one step, so that a flood does not delay what follows
	// from its beginning.
	batchInputsMax = 2048
	// batchBytesMax bounds one step by bytes: no more is gathered than that and one
	// entry.
	batchBytesMax = 16 << 20
	// gatherWait is how long a step waits, under load, for more than its first
	// input: what arrives together shares one step, one record of the log, one round
	// and one message. Work that was started together mostly ends together.
	gatherWait = 500 * time.Microsecond
	// busyWithin says what load is: a step after so short a time. At rest the first
	// input is taken at once.
	busyWithin = 10 * time.Millisecond
	// idleMax is the longest sleep without an input.
	idleMax = time.Minute
)

// errStopping is what callers get while the manager shuts down.
var errStopping = errors.New("the manager is shutting down: try again")

// entry is something for the core's goroutine.
type entry struct {
	inputs []*wire.Input
	// look runs after the step that takes the inputs in; it may read the core. What
	// it returns runs when all that it can have seen is durable.
	look func(*core.Core) func()
	// graph is the hash of the graph that the input names: it must be there, or draft
	// have it.
	graph string
	draft *core.Draft // of the job that the input submits; nil: the core makes it
	// decisions are those of the policy's answer that the input is; nil: it is none.
	decisions *scheduler.Decisions
	bytes     int64 // of the inputs, as they are logged; put and offer fill it in
}

// sized is the entry with its size.
func (e entry) sized() entry {
	for _, in := range e.inputs {
		e.bytes += int64(proto.Size(in))
	}
	return e
}

// driver owns the core. Only run touches it.
type driver struct {
	core   *core.Core
	log    *eventlog.Log
	synced *afterSync
	clock  clock
	inbox  chan entry
	room   *room         // for what waits in inbox
	ended  chan struct{} // closed when run has returned

	ask     func(core.AskPolicy)   // gives a round to the policy
	atOnce  func(core.Action) bool // does what need not wait for the disk; false: not of that sort
	durable func(core.Action)      // does the rest; must not block
	stats   *metrics
	graphs  *graphs
	remaker *remaker
}

// clock gives times that never go back, also across restarts of the manager: it
// goes on from the last time that was logged when the machine's clock is behind.
type clock struct {
	base  scheduler.Time
	start time.Time
}

func newClock(last scheduler.Time) clock {
	now := time.Now()
	return clock{base: max(scheduler.Time(now.UnixNano()), last+1), start: now}
}

func (c clock) now() scheduler.Time { return c.base.Add(time.Since(c.start)) }

// put hands inputs to the core. It waits for room until ctx or the driver ends.
func (d *driver) put(ctx context.Context, e entry) error {
	if e.bytes == 0 {
		e = e.sized()
	}
	if err := d.room.take(ctx, e.bytes, d.ended); err != nil {
		return err
	}
	select {
	case d.inbox <- e:
		return nil
	case <-ctx.Done():
		d.room.give(e.bytes)
		return context.Cause(ctx)
	case <-d.ended:
		return errStopping
	}
}

// offer hands inputs, whose size is known, to the core if there is room.
func (d *driver) offer(e entry) bool {
	if !d.room.offered(e.bytes) {
		return false
	}
	select {
	case d.inbox <- e:
		return true
	default:
		d.room.give(e.bytes)
		return false
	}
}

// read runs look on the core between steps and returns when what it saw is
// durable.
func (d *driver) read(ctx context.Context, look func(*core.Core)) error {
	done := make(chan struct{})
	return d.wait(ctx, done, entry{look: func(c *core.Core) func() {
		look(c)
		return func() { close(done) }
	}})
}

// glance runs look on the core between steps. What it sees need not be durable yet:
// it is for numbers that are shown, and answers also while the log's disk is full.
func (d *driver) glance(ctx context.Context, look func(*core.Core)) error {
	done := make(chan struct{})
	return d.wait(ctx, done, entry{look: func(c *core.Core) func() {
		look(c)
		close(done)
		return nil
	}})
}

// wait hands an entry to the core and waits until it says that it is done.
func (d *driver) wait(ctx context.Context, done <-chan struct{}, e entry) error {
	if err := d.put(ctx, e); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-d.ended:
		return errStopping
	}
}

// run drives the core until ctx ends or the log fails.
func (d *driver) run(ctx context.Context) error {
	defer close(d.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	var entries []entry
	var last time.Time // start of the last step
	for {
		entries = entries[:0]
		select {
		case <-ctx.Done():
			return nil
		case e := <-d.inbox:
			entries = append(entries, e)
		case <-timer.C:
		}
		if len(entries) > 0 && time.Since(last) < busyWithin {
			entries = d.gather(entries, timer)
		}
		last = time.Now()
		entries = d.drain(entries)
		if err := d.step(ctx, entries); err != nil {
			return err
		}
		d.taken(entries)
		timer.Reset(d.untilWake())
	}
}

// taken makes room for more when a step has taken entries in.
func (d *driver) taken(entries []entry) {
	for _, e := range entries {
		d.room.give(e.bytes)
	}
	clear(entries)
}

// full says whether a step has enough.
func full(entries []entry) bool {
	inputs, bytes := 0, int64(0)
	for _, e := range entries {
		inputs += len(e.inputs)
		bytes += e.bytes
	}
	return inputs >= batchInputsMax || bytes >= batchBytesMax
}

// gather waits for more, up to gatherWait. The policy's answer ends it: slots
// stand empty until it is carried out.
func (d *driver) gather(entries []entry, timer *time.Timer) []entry {
	timer.Reset(gatherWait)
	for !entries[len(entries)-1].urgent() && !full(entries) {
		select {
		case e := <-d.inbox:
			entries = append(entries, e)
		case <-timer.C:
			return entries
		}
	}
	return entries
}

func (e entry) urgent() bool {
	return len(e.inputs) > 0 && e.inputs[0].GetPolicyAnswer() != nil
}

// drain takes what else is there, without waiting.
func (d *driver) drain(entries []entry) []entry {
	for !full(entries) {
		select {
		case e := <-d.inbox:
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
	return min(max(wake.Sub(d.clock.now()), 0), idleMax)
}

// step feeds one batch to the core: what the entries bring, and a tick when it is
// due.
func (d *driver) step(ctx context.Context, entries []entry) error {
	batch := &wire.Batch{At: int64(d.clock.now())}
	for _, e := range entries {
		if drafted := d.core.Expect(e.draft); !drafted && e.graph != "" {
			if err := d.graphs.check(e.graph); err != nil {
				d.refuse(e.inputs[0], wire.ErrorKind_ERROR_KIND_INTERNAL, fmt.Sprintf("the job's graph can't be read any more: %v", err))
				continue
			}
		}
		if e.decisions != nil {
			d.core.ExpectAnswer(e.inputs[0].GetPolicyAnswer(), *e.decisions)
		}
		batch.Inputs = append(batch.Inputs, e.inputs...)
	}
	if wake, ok := d.core.NextWake(); ok && int64(wake) <= batch.At {
		batch.Inputs = append(batch.Inputs, wire.Tick())
	}
	if err := d.feed(batch); err != nil {
		return err
	}
	seq := d.log.Last()
	for _, e := range entries {
		if e.look == nil {
			continue
		}
		if then := e.look(d.core); then != nil {
			d.synced.add(seq, then)
			d.log.Hurry()
		}
	}
	if d.log.Full() {
		return d.rotate(ctx)
	}
	return nil
}

// recordBytesMax is the largest record that a step may make; a test lowers it.
var recordBytesMax = eventlog.RecordBytesMax

// feed gives a batch to the core as one step, or as several when one record of the
// log could not hold it. An input that alone is too large is refused: the bounds of
// what comes from outside leave none, and none must end the manager.
func (d *driver) feed(batch *wire.Batch) error {
	if len(batch.Inputs) == 0 {
		return nil
	}
	record, err := proto.Marshal(batch)
	if err != nil {
		return fmt.Errorf("encode a batch for the event log: %w", err)
	}
	if len(record) <= recordBytesMax {
		return d.decide(batch, record)
	}
	if len(batch.Inputs) == 1 {
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
	if ask := d.core.Take(batch); ask != nil {
		d.ask(*ask)
	}
	actions := d.core.Rest()
	d.stats.step(time.Since(start), len(batch.Inputs))
	later := actions[:0:0]
	for _, a := range actions {
		if !d.atOnce(a) {
			later = append(later, a)
		}
	}
	seq, err := d.log.Append(record)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(later, awaited) {
		d.log.Hurry()
	}
	if len(later) > 0 {
		d.synced.add(seq, func() {
			for _, a := range later {
				d.durable(a)
			}
		})
	}
	return nil
}

// refuse answers who waits for an input that the core is not to see.
func (d *driver) refuse(in *wire.Input, kind wire.ErrorKind, why string) {
	d.durable(core.LogLine{Level: core.Error, Message: "an input was refused: " + why})
	if client := clientOf(in); client != 0 {
		d.durable(core.Reply{Client: client, Failure: &wire.Failure{Kind: kind, Message: why}})
	}
}

// clientOf is who waits for the answer to an input; 0: nobody.
func clientOf(in *wire.Input) uint64 {
	switch w := in.What.(type) {
	case *wire.Input_Prepare:
		return w.Prepare.GetClient()
	case *wire.Input_Submit:
		return w.Submit.GetClient()
	case *wire.Input_KillJob:
		return w.KillJob.GetClient()
	case *wire.Input_UpdateJob:
		return w.UpdateJob.GetClient()
	case *wire.Input_Drain:
		return w.Drain.GetClient()
	case *wire.Input_Request:
		return w.Request.GetClient()
	}
	return 0
}

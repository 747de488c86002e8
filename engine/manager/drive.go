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
	// batchInputsMax bounds one step, so that a flood does not delay what follows
	// from its beginning.
	batchInputsMax = 4096
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
}

// driver owns the core. Only run touches it.
type driver struct {
	core  *core.Core
	log   *eventlog.Log
	held  *hold
	clock clock
	inbox chan entry
	ended chan struct{} // closed when run has returned

	atOnce  func(core.Action) bool // does what need not wait for the disk; false: not of that sort
	durable func(core.Action)      // does the rest; must not block
	stats   *metrics
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
	select {
	case d.inbox <- e:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-d.ended:
		return errStopping
	}
}

// offer hands inputs to the core if there is room.
func (d *driver) offer(e entry) bool {
	select {
	case d.inbox <- e:
		return true
	default:
		return false
	}
}

// read runs look on the core between steps and returns when what it saw is
// durable.
func (d *driver) read(ctx context.Context, look func(*core.Core)) error {
	done := make(chan struct{})
	err := d.put(ctx, entry{look: func(c *core.Core) func() {
		look(c)
		return func() { close(done) }
	}})
	if err != nil {
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

// glance runs look on the core between steps. What it sees need not be durable yet:
// it is for numbers that are shown, and answers also while the log's disk is full.
func (d *driver) glance(ctx context.Context, look func(*core.Core)) error {
	done := make(chan struct{})
	err := d.put(ctx, entry{look: func(c *core.Core) func() {
		look(c)
		close(done)
		return nil
	}})
	if err != nil {
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
		if err := d.step(entries); err != nil {
			return err
		}
		timer.Reset(d.untilWake())
	}
}

// gather waits for more, up to gatherWait. The policy's answer ends it: slots
// stand empty until it is carried out.
func (d *driver) gather(entries []entry, timer *time.Timer) []entry {
	timer.Reset(gatherWait)
	for !entries[len(entries)-1].urgent() {
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
	inputs := 0
	for _, e := range entries {
		inputs += len(e.inputs)
	}
	for inputs < batchInputsMax {
		select {
		case e := <-d.inbox:
			entries = append(entries, e)
			inputs += len(e.inputs)
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
func (d *driver) step(entries []entry) error {
	batch := &wire.Batch{At: int64(d.clock.now())}
	for _, e := range entries {
		batch.Inputs = append(batch.Inputs, e.inputs...)
	}
	if wake, ok := d.core.NextWake(); ok && int64(wake) <= batch.At {
		batch.Inputs = append(batch.Inputs, &wire.Input{What: &wire.Input_Tick{Tick: true}})
	}
	seq := d.log.Last()
	if len(batch.Inputs) > 0 {
		var err error
		if seq, err = d.feed(batch); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if e.look == nil {
			continue
		}
		if then := e.look(d.core); then != nil {
			d.held.add(seq, then)
			d.log.Hurry()
		}
	}
	if d.log.Full() {
		return d.log.Rotate(d.core.Checkpoint())
	}
	return nil
}

// feed steps the core, logs the batch and sees to the actions.
func (d *driver) feed(batch *wire.Batch) (uint64, error) {
	record, err := proto.Marshal(batch)
	if err != nil {
		return 0, fmt.Errorf("encode a batch for the event log: %w", err)
	}
	start := time.Now()
	actions := d.core.Step(batch)
	d.stats.step(time.Since(start), len(batch.Inputs))
	later := actions[:0:0]
	for _, a := range actions {
		if !d.atOnce(a) {
			later = append(later, a)
		}
	}
	seq, err := d.log.Append(record)
	if err != nil {
		return 0, err
	}
	if slices.ContainsFunc(later, awaited) {
		d.log.Hurry()
	}
	if len(later) > 0 {
		d.held.add(seq, func() {
			for _, a := range later {
				d.durable(a)
			}
		})
	}
	return seq, nil
}

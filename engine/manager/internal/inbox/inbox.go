// Package inbox holds inputs for the core, and requests to read it between two steps. One goroutine
// takes entries out; any goroutine may put some in.
//
// # Invariants
//
// Entries are bounded in number and bytes. When it is full, callers wait, and nothing is lost.
// Entries come out in the order in which they were accepted. Once it is closed, all waiting callers
// get ErrStopping.
//
// inboxBytesMax bounds all waiting entries, and intakeBytesMax the reports of each launcher.
package inbox

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// inboxMax is how many entries wait for the core before a caller with more has to wait.
	// Launchers' streams, callers and the policy get backpressure, nothing is lost.
	inboxMax = 1024
	// inboxBytesMax bounds the bytes of waiting entries, in the same way. One entry has at most as
	// much as a record of the log.
	inboxBytesMax = 128 << 20
)

// ErrStopping is the error for callers while the manager shuts down.
var ErrStopping = errors.New("the manager is shutting down: try again")

// Entry is an input or a request for the core's goroutine.
type Entry struct {
	Inputs []*wire.Input
	// Query runs after the step that takes the inputs in; it may read the core. The returned
	// function runs when everything that it can have seen is durable.
	Query func(*core.Core) func()
	// Graph is the hash of the graph that the input names: the graph must be stored, or Draft have
	// it.
	Graph string
	Draft *core.Draft // draft of the job that the input submits; nil: the core makes it
	// Decisions are the decoded decisions, if the input is a policy's answer; else nil.
	Decisions *scheduler.Decisions
	Bytes     int64 // of the inputs, as they are logged; Sized and Put fill it in
}

// Sized is the entry with its size.
func (e Entry) Sized() Entry {
	for _, in := range e.Inputs {
		e.Bytes += int64(proto.Size(in))
	}
	return e
}

// Inbox is the queue of the core's goroutine, which takes entries out. Its other methods may be
// called from any goroutine.
type Inbox struct {
	queue  chan Entry
	budget *ByteBudget   // for inputs waiting in queue
	ended  chan struct{} // closed when no more entries are taken out
}

// New returns an inbox with the bounds of a manager.
func New() *Inbox { return NewOf(inboxMax, inboxBytesMax) }

// NewOf returns an Inbox that holds so many entries, and bytes of them.
func NewOf(entries int, bytes int64) *Inbox {
	return &Inbox{queue: make(chan Entry, entries), budget: NewByteBudget(bytes), ended: make(chan struct{})}
}

// Fill is how full an inbox is.
type Fill struct {
	Entries, EntriesMax int   // waiting for the core
	Bytes, BytesMax     int64 // of the inputs that wait or are in the current step
}

// Fill returns how full the inbox is.
func (b *Inbox) Fill() Fill {
	return Fill{Entries: len(b.queue), EntriesMax: cap(b.queue), Bytes: b.budget.Taken(), BytesMax: b.budget.max}
}

// Next is the channel from which the core's goroutine takes entries. It calls Taken when a step has
// taken them in.
func (b *Inbox) Next() <-chan Entry { return b.queue }

// End notes that no more entries are taken out.
func (b *Inbox) End() { close(b.ended) }

// Over is closed when no more entries are taken out.
func (b *Inbox) Over() <-chan struct{} { return b.ended }

// Enqueue hands inputs to the core. It waits for room until ctx or the inbox ends.
func (b *Inbox) Enqueue(ctx context.Context, e Entry) error {
	if e.Bytes == 0 {
		e = e.Sized()
	}
	if err := b.budget.ReserveBytes(ctx, e.Bytes, b.ended); err != nil {
		return err
	}
	select {
	case b.queue <- e:
		return nil
	case <-ctx.Done():
		b.budget.ReleaseBytes(e.Bytes)
		return context.Cause(ctx)
	case <-b.ended:
		return ErrStopping
	}
}

// Input hands one input to the core.
func (b *Inbox) Input(ctx context.Context, in *wire.Input) error {
	return b.Enqueue(ctx, Entry{Inputs: []*wire.Input{in}})
}

// Offer hands inputs, whose size is known, to the core if there is room.
func (b *Inbox) Offer(e Entry) bool {
	if !b.budget.offered(e.Bytes) {
		return false
	}
	select {
	case b.queue <- e:
		return true
	default:
		b.budget.ReleaseBytes(e.Bytes)
		return false
	}
}

// ReadDurable runs look on the core between steps and returns when the state that look saw is
// durable.
func (b *Inbox) ReadDurable(ctx context.Context, look func(*core.Core)) error {
	done := make(chan struct{})
	return b.wait(ctx, done, Entry{Query: func(c *core.Core) func() {
		look(c)
		return func() { close(done) }
	}})
}

// ReadNow runs look on the core between steps. The state it sees need not be durable yet: it is for
// displayed numbers, and answers also while the log's disk is full.
func (b *Inbox) ReadNow(ctx context.Context, look func(*core.Core)) error {
	done := make(chan struct{})
	return b.wait(ctx, done, Entry{Query: func(c *core.Core) func() {
		look(c)
		close(done)
		return nil
	}})
}

// wait hands an entry to the core and waits until done is closed.
func (b *Inbox) wait(ctx context.Context, done <-chan struct{}, e Entry) error {
	if err := b.Enqueue(ctx, e); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-b.ended:
		return ErrStopping
	}
}

// Taken makes room for more when a step has taken entries in.
func (b *Inbox) Taken(entries []Entry) {
	for _, e := range entries {
		b.budget.ReleaseBytes(e.Bytes)
	}
	clear(entries)
}

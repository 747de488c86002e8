package worker

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// activity records whether a node makes progress, and what it waits for. Safe for concurrent use.
type activity struct {
	moved atomic.Bool  // since the last sample
	looks atomic.Int64 // samples that found progress
	asked atomic.Int64 // looks at the last standsSince, plus one

	running atomic.Bool // the program runs

	mu    sync.Mutex
	calls []*call // of the node's ports, in order of their first use
}

// call is a kind of engine call that can block, such as reading a port.
type call struct {
	does   string // such as `reads input "a" from b`
	reads  bool   // it waits for an input
	inside atomic.Int32
	of     *activity
}

// note records that the node makes progress. It is cheap enough for each record.
func (a *activity) note() {
	if !a.moved.Load() {
		a.moved.Store(true)
	}
}

// beginRunning and endRunning enclose the run of the program.
func (a *activity) beginRunning() { a.running.Store(true) }
func (a *activity) endRunning()   { a.running.Store(false) }

// runs reports whether the program runs.
func (a *activity) runs() bool { return a.running.Load() }

// calling returns the call of that name, which does not wait for an input.
func (a *activity) calling(does string) *call { return a.callOf(does, false) }

// reading returns the call of that name, which waits for an input.
func (a *activity) reading(does string) *call { return a.callOf(does, true) }

func (a *activity) callOf(does string, reads bool) *call {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.calls, func(c *call) bool { return c.does == does })
	if i < 0 {
		i = len(a.calls)
		a.calls = append(a.calls, &call{does: does, reads: reads, of: a})
	}
	return a.calls[i]
}

// enter and leave enclose a call. Its return is progress.
func (c *call) enter() { c.inside.Add(1) }

func (c *call) leave() {
	c.inside.Add(-1)
	c.of.note()
}

// waits names the calls that the program is in, "" if it is in none.
func (a *activity) waits() string {
	text, _ := a.waitsFor()
	return text
}

// waitsFor is waits, and reports whether all these calls wait for inputs.
func (a *activity) waitsFor() (text string, readsOnly bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var in []string
	readsOnly = true
	for _, c := range a.calls {
		if c.inside.Load() == 0 {
			continue
		}
		readsOnly = readsOnly && c.reads
		if len(in) < waitsNamed {
			in = append(in, c.does)
		}
	}
	return strings.Join(in, " and "), readsOnly && len(in) > 0
}

// waitsNamed is the largest number of calls that are named.
const waitsNamed = 4

// waiting reports whether the program is in any call.
func (a *activity) waiting() bool { return a.waits() != "" }

// sampleMoved reports whether the node made progress since the last sample. One goroutine calls it.
func (a *activity) sampleMoved() bool {
	moved := a.moved.Swap(false)
	if moved {
		a.looks.Add(1)
	}
	return moved
}

// watchedInput records when a program waits for an input port.
type watchedInput struct {
	job.Input
	call *call
}

// Next implements job.Input.
func (in *watchedInput) Next(ctx context.Context) (*job.Batch, error) {
	in.call.enter()
	defer in.call.leave()
	return in.Input.Next(ctx)
}

// NextSource implements job.Input.
func (in *watchedInput) NextSource(ctx context.Context) (job.Source, error) {
	in.call.enter()
	defer in.call.leave()
	s, err := in.Input.NextSource(ctx)
	if err != nil {
		return nil, err
	}
	return &watchedSource{s, in.call}, nil
}

// watchedSource records when a program waits for one source of a port.
type watchedSource struct {
	job.Source
	call *call
}

// Next implements job.Source.
func (s *watchedSource) Next(ctx context.Context) (*job.Batch, error) {
	s.call.enter()
	defer s.call.leave()
	return s.Source.Next(ctx)
}

// Stored implements the interface of channel.IsStored.
func (s *watchedSource) Stored() bool { return channel.IsStored(s.Source) }

// watchedWriter records when a program waits for the reader of a channel.
type watchedWriter struct {
	channel.Writer
	call *call
}

// WriteBatch implements channel.Writer.
func (w *watchedWriter) WriteBatch(ctx context.Context, b *job.Batch) error {
	w.call.enter()
	defer w.call.leave()
	return w.Writer.WriteBatch(ctx, b)
}

// Close implements channel.Writer.
func (w *watchedWriter) Close(ctx context.Context) error {
	w.call.enter()
	defer w.call.leave()
	return w.Writer.Close(ctx)
}

// standsSince reports whether the node made no progress since the previous call of standsSince.
func (a *activity) standsSince() bool {
	now := a.looks.Load()
	return a.asked.Swap(now+1) == now+1
}

package jobtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// inbox is an input port: its sources share one lock and one signal.
type inbox struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced when a source changed
	sources []*stream
	given   int // sources handed out by NextSource
}

func newInbox() *inbox { return &inbox{changed: make(chan struct{})} }

// stream is one channel, a queue without bound.
type stream struct {
	in      *inbox
	from    int
	batches []*job.Batch
	bytes   int64
	ended   bool
	closed  bool // the reader wants no more
}

func (in *inbox) add(from int) *stream {
	s := &stream{in: in, from: from}
	in.sources = append(in.sources, s)
	return s
}

// signal wakes all readers; the caller holds the lock.
func (in *inbox) signal() {
	close(in.changed)
	in.changed = make(chan struct{})
}

// wait calls try under the lock until it is done.
func (in *inbox) wait(ctx context.Context, try func() (done bool)) error {
	for {
		in.mu.Lock()
		done, changed := try(), in.changed
		in.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Next implements job.Input.
func (in *inbox) Next(ctx context.Context) (b *job.Batch, err error) {
	waitErr := in.wait(ctx, func() bool {
		open := false
		for _, s := range in.sources {
			if b, err = s.take(); err == nil && b != nil {
				return true
			}
			open = open || err == nil
		}
		err = io.EOF
		return !open
	})
	if waitErr != nil {
		return nil, waitErr
	}
	return b, err
}

// Sources implements job.Input.
func (in *inbox) Sources() int { return len(in.sources) }

// NextSource implements job.Input.
func (in *inbox) NextSource(context.Context) (job.Source, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.given == len(in.sources) {
		return nil, io.EOF
	}
	in.given++
	return in.sources[in.given-1], nil
}

// take returns the next batch, nil when there is none yet, or io.EOF.
func (s *stream) take() (*job.Batch, error) {
	if len(s.batches) > 0 {
		b := s.batches[0]
		s.batches = s.batches[1:]
		return b, nil
	}
	if s.ended || s.closed {
		return nil, io.EOF
	}
	return nil, nil
}

// Next implements job.Source.
func (s *stream) Next(ctx context.Context) (b *job.Batch, err error) {
	waitErr := s.in.wait(ctx, func() bool {
		b, err = s.take()
		return b != nil || err != nil
	})
	if waitErr != nil {
		return nil, waitErr
	}
	return b, err
}

// From implements job.Source.
func (s *stream) From() int { return s.from }

// Bytes implements job.Source.
func (s *stream) Bytes() int64 {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	if !s.ended {
		return -1
	}
	return s.bytes
}

// Close implements job.Source.
func (s *stream) Close() error {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	s.closed, s.batches = true, nil
	return nil
}

func (s *stream) put(b *job.Batch) {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	if !s.closed {
		s.batches = append(s.batches, b)
		s.bytes += int64(len(b.Data))
	}
	s.in.signal()
}

func (s *stream) end() {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	s.ended = true
	s.in.signal()
}

// outlet is an output port: what is written goes to each of its connections.
type outlet struct {
	name        string
	over        *atomic.Bool // the node has returned
	connections []connection
	open        []*job.Batch // by partition, being filled
}

type connection struct {
	id      int
	streams []*stream
}

var errOver = errors.New("write after the program returned")

// Partitions implements job.Output.
func (o *outlet) Partitions() int { return len(o.connections[0].streams) }

func (o *outlet) check(ctx context.Context, partition int) error {
	if o.over.Load() {
		return errOver
	}
	if partition < 0 || partition >= o.Partitions() {
		return fmt.Errorf("output %s has no partition %d: use 0 to %d", o.name, partition, o.Partitions()-1)
	}
	return ctx.Err()
}

// Write implements job.Output.
func (o *outlet) Write(ctx context.Context, partition int, record []byte) error {
	if err := o.check(ctx, partition); err != nil {
		return err
	}
	if len(record) > job.RecordBytesMax {
		return fmt.Errorf("a record of %d bytes is larger than %d", len(record), job.RecordBytesMax)
	}
	if o.open == nil {
		o.open = make([]*job.Batch, o.Partitions())
	}
	b := o.open[partition]
	if b == nil {
		b = &job.Batch{}
		o.open[partition] = b
	}
	b.Append(record)
	if len(b.Data) >= job.BatchBytes {
		o.flush(partition)
	}
	return nil
}

func (o *outlet) flush(partition int) {
	if o.open == nil || o.open[partition] == nil {
		return
	}
	b := o.open[partition]
	o.open[partition] = nil
	o.pass(partition, b)
}

// WriteBatch implements job.Output.
func (o *outlet) WriteBatch(ctx context.Context, partition int, b *job.Batch) error {
	if err := o.check(ctx, partition); err != nil {
		return err
	}
	o.flush(partition)
	if b.Len() > 0 {
		o.pass(partition, b)
	}
	return nil
}

// pass hands a batch to each connection, copied for all but the last.
func (o *outlet) pass(partition int, b *job.Batch) {
	for i, c := range o.connections {
		send := b
		if i < len(o.connections)-1 {
			send = &job.Batch{Data: append([]byte(nil), b.Data...), Ends: append([]uint32(nil), b.Ends...)}
		}
		c.streams[partition].put(send)
	}
}

func (o *outlet) end() {
	for i := range o.open {
		o.flush(i)
	}
	for _, c := range o.connections {
		for _, s := range c.streams {
			s.end()
		}
	}
}

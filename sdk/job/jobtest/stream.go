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

// queueBytes bounds one tcp or shm channel while its reader makes progress, in bytes.
const queueBytes = 512 << 10

// inbox is an input port: its sources share one lock and one signal.
type inbox struct {
	node    *node
	name    string
	mu      sync.Mutex
	changed chan struct{} // closed and replaced when a source changed
	sources []*stream
	given   int // sources handed out by NextSource
}

func newInbox(n *node, name string) *inbox {
	return &inbox{node: n, name: name, changed: make(chan struct{})}
}

// stream is one channel: a queue. The queue of a file channel is unbounded.
type stream struct {
	in      *inbox
	from    int
	file    bool
	held    int64 // bytes in batches
	batches []*job.Batch
	bytes   int64
	ended   bool
	closed  bool // the reader takes no more
}

func (in *inbox) add(from int, file bool) *stream {
	s := &stream{in: in, from: from, file: file}
	in.sources = append(in.sources, s)
	return s
}

// signal wakes all readers; the caller holds the lock.
func (in *inbox) signal() {
	close(in.changed)
	in.changed = make(chan struct{})
}

// wait calls try under the lock until it reports done. Meanwhile node n counts as waiting in the
// call that does names.
func (in *inbox) wait(ctx context.Context, n *node, does string, try func() (done bool)) error {
	for first := true; ; first = false {
		in.mu.Lock()
		done, changed := try(), in.changed
		in.mu.Unlock()
		if done {
			return nil
		}
		if first {
			n.enter(does)
			defer n.leave(does)
			continue // catch changes from before enter
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
	waitErr := in.wait(ctx, in.node, in.reading(), func() bool {
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

// reading describes a node that waits for the port.
func (in *inbox) reading() string { return fmt.Sprintf("reads input %q", in.name) }

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
		s.held -= int64(len(b.Data))
		s.in.signal() // the writer may be waiting for room
		return b, nil
	}
	if s.ended || s.closed {
		return nil, io.EOF
	}
	return nil, nil
}

// Next implements job.Source.
func (s *stream) Next(ctx context.Context) (b *job.Batch, err error) {
	waitErr := s.in.wait(ctx, s.in.node, s.in.reading(), func() bool {
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
	s.closed, s.batches, s.held = true, nil, 0
	s.in.signal()
	return nil
}

// put queues a batch of a node's output. It waits while the reader makes progress. If the reader
// waits for something else, such as another input, put queues the batch all the same, up to a
// bound.
func (s *stream) put(ctx context.Context, from *node, output string, b *job.Batch) (err error) {
	size := int64(len(b.Data))
	waitErr := s.in.wait(ctx, from, fmt.Sprintf("writes output %q", output), func() bool {
		waits := ""
		if !s.closed && !s.file && s.held > 0 && s.held+size > queueBytes {
			if waits = s.in.node.waits(); waits == "" {
				return false
			}
		}
		if most := s.in.node.r.options.Spill; waits != "" && s.held+size > most {
			err = fmt.Errorf("%s.%d is blocked writing output %q to input %q of %s.%d, while that %s: more than %d bytes wait there; read the inputs together, let a file channel carry one of them, or raise Options.Spill",
				from.spec.Name, from.index, output, s.in.name, s.in.node.spec.Name, s.in.node.index, waits, most)
			return true
		}
		if !s.closed {
			s.batches = append(s.batches, b)
			s.held += size
			s.bytes += size
		}
		s.in.signal()
		return true
	})
	if waitErr != nil {
		return waitErr
	}
	return err
}

func (s *stream) end() {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	s.ended = true
	s.in.signal()
}

// outlet is an output port: each of its connections gets all that is written.
type outlet struct {
	node        *node
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
		return o.flush(ctx, partition)
	}
	return nil
}

func (o *outlet) flush(ctx context.Context, partition int) error {
	if o.open == nil || o.open[partition] == nil {
		return nil
	}
	b := o.open[partition]
	o.open[partition] = nil
	return o.pass(ctx, partition, b)
}

// WriteBatch implements job.Output.
func (o *outlet) WriteBatch(ctx context.Context, partition int, b *job.Batch) error {
	if err := o.check(ctx, partition); err != nil {
		return err
	}
	if err := o.flush(ctx, partition); err != nil || b.Len() == 0 {
		return err
	}
	return o.pass(ctx, partition, b)
}

// pass hands a batch to each connection, copied for all but the last.
func (o *outlet) pass(ctx context.Context, partition int, b *job.Batch) error {
	for i, c := range o.connections {
		send := b
		if i < len(o.connections)-1 {
			send = &job.Batch{Data: append([]byte(nil), b.Data...), Ends: append([]uint32(nil), b.Ends...)}
		}
		if err := c.streams[partition].put(ctx, o.node, o.name, send); err != nil {
			return err
		}
	}
	return nil
}

func (o *outlet) end(ctx context.Context) error {
	for i := range o.open {
		if err := o.flush(ctx, i); err != nil {
			return err
		}
	}
	for _, c := range o.connections {
		for _, s := range c.streams {
			s.end()
		}
	}
	return nil
}

package shm

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/internal/spill"
	"github.com/hamadryad/hamadryad/sdk/job"
)

const (
	// QueueBytes is a queue's bound in memory when Options set none: 256 KiB. A larger batch is
	// held alone.
	QueueBytes = 4 * job.BatchBytes
	// SpillMaxDefault bounds a queue's bytes on disk: 64 GiB.
	SpillMaxDefault = 64 << 30
	// StallDefault is how long the reader of a full queue may take nothing before the writer
	// spills. It is halved each time, down to stallLeast. So a graph that stalls again and again is
	// not slowed by the waits.
	StallDefault = 200 * time.Millisecond
	stallLeast   = 5 * time.Millisecond
	// stuckMax is how long a writer with a full spill waits for a reader that takes nothing.
	stuckMax = 5 * time.Minute
)

// Options of a queue. Scratch is required; the rest has defaults.
type Options struct {
	From     int           // the result of the source's From
	Name     string        // the channel's name in errors
	Bytes    int64         // bound in memory; 0 means QueueBytes
	Scratch  string        // the folder of the spill file
	SpillMax int64         // bound on disk, in bytes; 0 means SpillMaxDefault
	Stall    time.Duration // 0 means StallDefault
	Stuck    time.Duration // how long a writer with a full spill waits for its reader; 0 means 5 minutes
}

func (o Options) filled() Options {
	if o.Bytes <= 0 {
		o.Bytes = QueueBytes
	}
	if o.SpillMax <= 0 {
		o.SpillMax = SpillMaxDefault
	}
	if o.Stall <= 0 {
		o.Stall = StallDefault
	}
	if o.Stuck <= 0 {
		o.Stuck = stuckMax
	}
	return o
}

// queue is one channel. Its batches are first those in memory, then those in the spill.
type queue struct {
	o     Options
	room  chan struct{} // signals the writer that the reader took a batch or closed
	ready chan struct{} // signals the reader that a batch or the end came

	mu      sync.Mutex
	memory  []*job.Batch
	held    int64 // bytes in memory
	spilled int   // batches in the spill
	taken   int64 // batches that the reader took: shows its progress
	ended   bool  // the writer closed its end
	left    bool  // the reader closed on purpose
	err     error // the writer aborted

	spill spill.File    // appended by the writer, read by the reader
	stall time.Duration // used by the writer only
}

// New returns the two ends of a channel. Next returns the batches passed to WriteBatch themselves,
// unless they were spilled.
func New(o Options) (channel.Writer, job.Source) {
	o = o.filled()
	q := &queue{o: o, room: make(chan struct{}, 1), ready: make(chan struct{}, 1), stall: o.Stall}
	q.spill.Folder, q.spill.Prefix = o.Scratch, "shm"
	return &writer{q: q}, &source{q: q}
}

// batchCost is the cost of an empty batch, so that many tiny batches count, too.
const batchCost = 64

func cost(b *job.Batch) int64 { return int64(batchCost + len(b.Data) + 4*len(b.Ends)) }

func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// writer is the writing end.
type writer struct{ q *queue }

// WriteBatch passes the batch on, or spills it if the reader has stalled.
func (w *writer) WriteBatch(ctx context.Context, b *job.Batch) error {
	q := w.q
	if b.Len() == 0 {
		return nil
	}
	q.mu.Lock()
	mark := q.taken
	dropped, err := q.stateLocked()
	if err == nil && !dropped && q.fitsLocked(b) {
		q.pushLocked(b)
		q.mu.Unlock()
		tell(q.ready)
		return nil
	}
	q.mu.Unlock()
	if err != nil || dropped {
		return err
	}
	return w.wait(ctx, b, mark)
}

// stateLocked returns whether batches are dropped, or why they cannot be written.
func (q *queue) stateLocked() (dropped bool, err error) {
	if q.err != nil {
		return false, q.err
	}
	if q.ended {
		return false, fmt.Errorf("shm channel %s: %w", q.o.Name, channel.ErrClosed)
	}
	return q.left, nil
}

func (q *queue) fitsLocked(b *job.Batch) bool {
	return q.spilled == 0 && (q.held == 0 || q.held+cost(b) <= q.o.Bytes)
}

func (q *queue) pushLocked(b *job.Batch) {
	q.memory = append(q.memory, b)
	q.held += cost(b)
}

// wait waits for room while the reader makes progress, then spills. mark is the number of batches
// that the reader had taken when the wait began.
func (w *writer) wait(ctx context.Context, b *job.Batch, mark int64) error {
	q := w.q
	patience := q.stall
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		stalled := false
		select {
		case <-q.room:
		case <-timer.C:
			stalled = true
		case <-ctx.Done():
			return ctx.Err()
		}
		q.mu.Lock()
		dropped, err := q.stateLocked()
		if err == nil && !dropped && q.fitsLocked(b) {
			q.pushLocked(b)
			q.mu.Unlock()
			tell(q.ready)
			return nil
		}
		moved := q.taken != mark
		mark = q.taken
		q.mu.Unlock()
		switch {
		case err != nil || dropped:
			return err
		case moved:
			timer.Reset(patience)
		case stalled:
			q.stall = max(q.stall/2, stallLeast)
			return w.overflow(ctx, b, mark)
		}
	}
}

// overflow spills the batch. When the disk's bound is reached it waits for the reader's progress,
// but not for ever.
func (w *writer) overflow(ctx context.Context, b *job.Batch, mark int64) error {
	q := w.q
	q.mu.Lock()
	empty := q.spilled == 0
	q.mu.Unlock()
	if empty {
		q.spill.Rewind()
	}
	if q.spill.Bytes() < q.o.SpillMax {
		if _, err := q.spill.Append(b); err != nil {
			return fmt.Errorf("shm channel %s: %w", q.o.Name, err)
		}
		q.mu.Lock()
		q.spilled++
		q.mu.Unlock()
		tell(q.ready)
		job.PutBatch(b)
		return nil
	}
	timer := time.NewTimer(q.o.Stuck)
	defer timer.Stop()
	select {
	case <-q.room:
		return w.wait(ctx, b, mark)
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return fmt.Errorf("shm channel %s: its reader took nothing for %v while %d bytes wait on disk in %s: let the reader read its inputs together, or use a file channel here",
			q.o.Name, q.o.Stuck, q.o.SpillMax, q.o.Scratch)
	}
}

// Close ends the stream. The batches written remain for the reader.
func (w *writer) Close(context.Context) error {
	w.q.mu.Lock()
	defer w.q.mu.Unlock()
	_, err := w.q.stateLocked()
	if err == nil {
		w.q.ended = true
		tell(w.q.ready)
	}
	return err
}

// Abort makes the reader fail with cause.
func (w *writer) Abort(cause error) {
	w.q.mu.Lock()
	defer w.q.mu.Unlock()
	if w.q.ended || w.q.err != nil {
		return
	}
	w.q.err = fmt.Errorf("%w: shm channel %s: its writer failed: %w", channel.ErrPeerLost, w.q.o.Name, cause)
	tell(w.q.ready)
	tell(w.q.room)
}

// source is the reading end.
type source struct{ q *queue }

func (s *source) From() int    { return s.q.o.From }
func (s *source) Bytes() int64 { return -1 }

// Next returns the oldest batch.
func (s *source) Next(ctx context.Context) (*job.Batch, error) {
	q := s.q
	for {
		q.mu.Lock()
		b, onDisk, err := q.takeLocked()
		q.mu.Unlock()
		if onDisk {
			b, err = q.unspill()
		}
		if err != nil {
			return nil, err
		}
		if b != nil {
			tell(q.room)
			return b, nil
		}
		select {
		case <-q.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// takeLocked takes a batch from memory, or returns that the next batch is on disk.
func (q *queue) takeLocked() (b *job.Batch, onDisk bool, err error) {
	switch {
	case q.left:
		return nil, false, fmt.Errorf("shm channel %s: %w", q.o.Name, channel.ErrClosed)
	case q.err != nil:
		return nil, false, q.err
	case len(q.memory) > 0:
		b = q.memory[0]
		q.memory[0] = nil
		q.memory = q.memory[1:]
		q.held -= cost(b)
		q.taken++
		return b, false, nil
	case q.spilled > 0:
		return nil, true, nil
	case q.ended:
		q.spill.Close()
		return nil, false, io.EOF
	}
	return nil, false, nil
}

// unspill reads the oldest batch on disk. The batch counts as taken only after that: the writer
// must not rewind before.
func (q *queue) unspill() (*job.Batch, error) {
	b, _, err := q.spill.Next()
	if err != nil {
		return nil, fmt.Errorf("shm channel %s: spill: %w", q.o.Name, err)
	}
	q.mu.Lock()
	q.spilled--
	q.taken++
	q.mu.Unlock()
	return b, nil
}

// Close drops unread batches. Further batches of the writer are dropped, too.
func (s *source) Close() error {
	q := s.q
	q.mu.Lock()
	q.left = true
	q.memory, q.held, q.spilled = nil, 0, 0
	q.mu.Unlock()
	q.spill.Close()
	tell(q.room)
	tell(q.ready)
	return nil
}

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
	// QueueBytes is what a queue holds in memory when Options say nothing: 256 KiB.
	// A batch larger than that is held alone.
	QueueBytes = 4 * job.BatchBytes
	// SpillMaxDefault is the most that a queue keeps on disk: 64 GiB.
	SpillMaxDefault = 64 << 30
	// StallDefault is how long the reader of a full queue may take nothing before
	// its writer spills. It is halved each time, down to stallLeast, so that a
	// graph that stalls again and again is not slowed by the waiting.
	StallDefault = 200 * time.Millisecond
	stallLeast   = 5 * time.Millisecond
	// stuckMax is how long a writer whose spill is full waits for a reader that
	// takes nothing.
	stuckMax = 5 * time.Minute
)

// Options of a queue. Scratch is needed; the rest has defaults.
type Options struct {
	From     int           // what the source's From returns
	Name     string        // names the channel in errors
	Bytes    int64         // the most held in memory; 0 means QueueBytes
	Scratch  string        // the folder of the spill file
	SpillMax int64         // the most bytes on disk; 0 means SpillMaxDefault
	Stall    time.Duration // 0 means StallDefault
	Stuck    time.Duration // how long a full spill waits for its reader; 0 means 5 minutes
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

// queue is one channel. Its batches are those in memory, then those in the spill.
type queue struct {
	o     Options
	room  chan struct{} // tells the writer that the reader took something or left
	ready chan struct{} // tells the reader that something came

	mu      sync.Mutex
	memory  []*job.Batch
	held    int64 // bytes in memory
	spilled int   // batches in the spill that were not taken
	taken   int64 // batches that the reader took: shows that it moves
	ended   bool  // the writer's end
	left    bool  // the reader closed on purpose
	err     error // the writer aborted

	spill spill.File    // appended by the writer, read by the reader
	stall time.Duration // the writer's
}

// New returns the two ends of a channel. A batch passed to WriteBatch is the same
// one that Next returns, unless it was spilled.
func New(o Options) (channel.Writer, job.Source) {
	o = o.filled()
	q := &queue{o: o, room: make(chan struct{}, 1), ready: make(chan struct{}, 1), stall: o.Stall}
	q.spill.Folder, q.spill.Prefix = o.Scratch, "shm"
	return &writer{q: q}, &source{q: q}
}

// batchCost is what an empty batch takes, so that many tiny ones count too.
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

// WriteBatch hands the batch over, or spills it when the reader has stalled.
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

// stateLocked tells whether batches are dropped, or why they cannot be written.
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

// wait waits for room as long as the reader moves, then spills. Mark is how many
// batches it had taken when the wait began.
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

// overflow spills the batch; when the disk's share is used up it waits for the
// reader to move, but not for ever.
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

// Close ends the stream; what was written stays for the reader.
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

// takeLocked takes from memory, or tells that the next batch is on disk.
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

// unspill reads the oldest batch on disk. Only then does it count as taken: until
// it is read the writer must not rewind.
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

// Close gives up what is unread; the writer's further batches are dropped.
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

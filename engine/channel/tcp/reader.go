package tcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/engine/channel/internal/control"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// reader is the reading end of a streamed channel, from Expect on.
type reader struct {
	key    Key
	window int64
	wake   chan struct{}

	mu       sync.Mutex
	peer     *peer        // nil until the writer connects
	queue    []*job.Batch // batches after those on disk
	aside    aside        // batches on disk
	held     int64        // cost of the batches received and not credited
	credit   int64        // cost of the batches taken and not credited yet
	records  int64        // received
	ended    bool         // the writer's end was received
	finished bool         // the connection has ended, with or without an error
	closed   bool         // the node closed its end
	err      error        // why the channel is broken
}

var _ job.Source = (*reader)(nil)

func (r *reader) From() int    { return r.key.From }
func (r *reader) Bytes() int64 { return -1 }

// Next returns the next batch. An error is returned at once, even before batches received earlier:
// the bundle restarts anyway.
func (r *reader) Next(ctx context.Context) (*job.Batch, error) {
	for {
		r.mu.Lock()
		b, credit, err := r.takeLocked()
		onDisk := b == nil && err == nil && r.aside.batches > 0
		p := r.peer
		r.mu.Unlock()
		if onDisk {
			return r.unspill()
		}
		if credit > 0 {
			// If it fails, the goroutine that reads the socket reports it.
			_ = p.send(ctx, control.Append(nil, msgCredit, control.Body{}.U64(uint64(credit))))
		}
		if b != nil || err != nil {
			return b, err
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// takeLocked returns the next batch and the cost to credit, an error, or nothing.
func (r *reader) takeLocked() (*job.Batch, int64, error) {
	switch {
	case r.closed:
		return nil, 0, fmt.Errorf("%v: %w", r.key, channel.ErrClosed)
	case r.err != nil:
		return nil, 0, r.err
	case r.aside.batches > 0:
		return nil, 0, nil
	case len(r.queue) == 0 && r.ended:
		return nil, 0, io.EOF
	case len(r.queue) == 0:
		return nil, 0, nil
	}
	b := r.queue[0]
	r.queue[0] = nil
	r.queue = r.queue[1:]
	r.aside.taken++
	r.credit += cost(b)
	// Many small credits cost more than they help. But that for the last batch must be sent, since
	// the writer may wait for an empty window.
	if r.ended || (r.credit < r.window/4 && len(r.queue) > 0) {
		return b, 0, nil
	}
	credit := r.credit
	r.credit = 0
	r.held -= credit
	return b, credit, nil
}

// Close notifies the writer that the node wants no more.
func (r *reader) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed, r.queue = true, nil
	p := r.peer
	say := p != nil && !r.ended && r.err == nil
	r.mu.Unlock()
	r.dropAside()
	r.signal()
	if say {
		r.sayGone(p)
	}
	return nil
}

// sayGone ends the stream from this end; the writer answers with its own end.
func (r *reader) sayGone(p *peer) {
	if p.send(context.Background(), control.Append(nil, msgGone, nil)) != nil {
		p.close()
		return
	}
	_ = p.conn.SetReadDeadline(time.Now().Add(lingerMax)) // fails only on a closed connection
}

func (r *reader) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// attach takes over the writer's connection and reads it to its end.
func (r *reader) attach(p *peer, o Options) {
	p.watch(o.Tick, func() { r.fail(lost(r.key, "its writer was silent for %v", SilentTicks*o.Tick)) })
	r.mu.Lock()
	r.peer = p
	closed, broken := r.closed, r.err != nil
	r.mu.Unlock()
	if broken { // the listener was closed before the connection got here
		p.close()
		return
	}
	if closed {
		r.sayGone(p)
	}
	err := r.listen(p)
	p.close()
	r.mu.Lock()
	r.finished = true
	if r.err == nil && !r.ended {
		r.err = err
	}
	r.mu.Unlock()
	r.signal()
}

// listen reads the connection to its end, and returns why it ended.
func (r *reader) listen(p *peer) error {
	blocks := block.NewReader(p.raw)
	for {
		kind, body, err := p.in.Next()
		if errors.Is(err, io.EOF) {
			return lost(r.key, "its writer hung up before the end")
		}
		if err == nil {
			err = r.hear(p, kind, body, blocks)
		}
		if err != nil {
			return lost(r.key, "%w", err)
		}
	}
}

func (r *reader) hear(p *peer, kind byte, body *control.Parser, blocks *block.Reader) error {
	switch kind {
	case msgBeat:
		return body.End()
	case msgBlock:
		n := int64(body.U64())
		if err := body.End(); err != nil {
			return err
		}
		return r.block(n, blocks)
	case msgFull:
		if err := body.End(); err != nil {
			return err
		}
		return r.full(p)
	case msgEnd:
		return r.end(p, int64(body.U64()))
	case msgAbort:
		return fmt.Errorf("its writer failed: %s", body.Text())
	}
	return fmt.Errorf("%w: kind %d from a writer", control.ErrGarbled, kind)
}

// block reads one batch into the queue.
func (r *reader) block(n int64, blocks *block.Reader) error {
	r.mu.Lock()
	over := n <= 0 || (r.held > 0 && r.held+n > r.window && !r.closed)
	late := r.ended && !r.closed
	r.mu.Unlock()
	if late {
		return fmt.Errorf("%w: a batch after the end", control.ErrGarbled)
	}
	if over {
		return fmt.Errorf("%w: a batch of %d bytes goes beyond the window of %d", control.ErrGarbled, n, r.window)
	}
	b, err := blocks.Next()
	if err != nil {
		return control.NoEnd(err)
	}
	if cost(b) != n {
		return fmt.Errorf("%w: a batch of %d bytes was announced as %d", control.ErrGarbled, cost(b), n)
	}
	r.mu.Lock()
	r.records += int64(b.Len())
	r.held += n
	if !r.closed {
		r.queue = append(r.queue, b)
	}
	r.mu.Unlock()
	r.signal()
	return nil
}

// end checks that no record is missing, and answers. After gone the count is not checked.
func (r *reader) end(p *peer, records int64) error {
	r.mu.Lock()
	if !r.closed && records != r.records {
		defer r.mu.Unlock()
		return fmt.Errorf("%w: its end counts %d records where %d came", control.ErrGarbled, records, r.records)
	}
	again := r.ended
	r.ended = true
	r.mu.Unlock()
	r.signal()
	if again {
		return nil // the node closed its end while the writer's answer to gone was under way
	}
	_ = p.conn.SetReadDeadline(time.Now().Add(lingerMax)) // fails only on a closed connection
	return p.send(context.Background(), control.Append(nil, msgDone, nil))
}

// fail breaks the channel from outside the goroutine that reads it.
func (r *reader) fail(err error) {
	r.mu.Lock()
	if r.err == nil && !r.ended {
		r.err = err
	}
	p := r.peer
	r.mu.Unlock()
	if p != nil {
		p.close()
	}
	r.signal()
}

// draining reports whether a connection's writer must still learn that the reader left.
func (r *reader) draining() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.peer != nil && !r.finished && (r.closed || r.ended)
}

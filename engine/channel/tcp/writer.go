package tcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/engine/channel/internal/control"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// bufferKeepMax is the largest message buffer that is kept between batches.
const bufferKeepMax = 1 << 20

// writer is the writing end of a streamed channel.
type writer struct {
	key     Key
	peer    *peer
	window  int64
	tick    time.Duration
	enc     *block.Encoder
	buf     []byte      // a message's head, and the block where it is compressed
	pieces  [3][]byte   // backing array of out
	out     net.Buffers // the message being sent
	records int64       // sent
	wake    chan struct{}
	over    chan struct{} // closed when the reading goroutine ended

	mu     sync.Mutex
	stall  time.Duration // how long it waits for room before it sends full
	flight int64         // cost of the batches that the reader has not taken
	gone   bool          // the reader closed its end
	done   bool          // the reader has received everything
	err    error         // why the channel is broken or closed
}

var _ channel.Writer = (*writer)(nil)

// Dial connects the writing end. It waits until the reader expects the channel,
// for at most RendezvousMax. The error matches channel.ErrRefused (wrong token,
// or connected already), or channel.ErrPeerLost.
func Dial(ctx context.Context, addr string, k Key, token string, o Options) (channel.Writer, error) {
	o = o.filled()
	if len(k.Channel) > NameMax || len(token) > NameMax {
		return nil, fmt.Errorf("%v: name or token is longer than %d bytes", k, NameMax)
	}
	c, err := o.Dial(ctx, addr)
	if err != nil {
		return nil, lost(k, "cannot reach %s: %w", addr, err)
	}
	p := newPeer(c)
	window, err := shake(ctx, p, k, token)
	if err != nil {
		p.close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("%v at %s: %w", k, addr, err)
	}
	w := &writer{
		key: k, peer: p, window: window, tick: o.Tick, stall: o.Stall, enc: block.NewEncoder(o.Codec),
		wake: make(chan struct{}, 1), over: make(chan struct{}),
	}
	go w.listen()
	p.watch(o.Tick, func() { w.fail(lost(k, "its reader was silent for %v", SilentTicks*o.Tick)) })
	return w, nil
}

func lost(k Key, format string, args ...any) error {
	return fmt.Errorf("%w: %v: %w", channel.ErrPeerLost, k, fmt.Errorf(format, args...))
}

// shake says hello and returns the reader's window.
func shake(ctx context.Context, p *peer, k Key, token string) (int64, error) {
	stop := context.AfterFunc(ctx, func() { _ = p.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := p.conn.SetDeadline(time.Now().Add(RendezvousMax + helloMax)); err != nil {
		return 0, err
	}
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if err := p.send(ctx, control.Append(nil, msgHello, helloBody(k, token))); err != nil {
		return 0, fmt.Errorf("%w: %w", channel.ErrPeerLost, err)
	}
	kind, body, err := p.in.Next()
	if err != nil {
		return 0, fmt.Errorf("%w: no answer: %w", channel.ErrPeerLost, control.NoEnd(err))
	}
	switch kind {
	case msgAccept:
		window := int64(body.U64())
		if err := body.End(); err != nil {
			return 0, fmt.Errorf("%w: %w", channel.ErrPeerLost, err)
		}
		return window, p.conn.SetDeadline(time.Time{})
	case msgNo:
		return 0, fmt.Errorf("%w: %s", channel.ErrRefused, body.Text())
	}
	return 0, fmt.Errorf("%w: answer of kind %d", channel.ErrPeerLost, kind)
}

// WriteBatch sends the batch once the window has room for it.
func (w *writer) WriteBatch(ctx context.Context, b *job.Batch) error {
	if b.Len() == 0 {
		return nil
	}
	buf := control.Append(w.buf[:0], msgBlock, control.Body{}.U64(uint64(cost(b))))
	block, err := w.enc.Encode(buf, b)
	if err != nil {
		return fmt.Errorf("%v: %w", w.key, err)
	}
	if w.buf = block.Head; cap(w.buf) > bufferKeepMax {
		w.buf = nil
	}
	if send, err := w.admit(ctx, cost(b)); err != nil || !send {
		return err
	}
	w.records += int64(b.Len())
	w.pieces = [...][]byte{block.Head, block.Data, block.Lengths}
	w.out = w.pieces[:]
	err = w.sent(ctx, w.peer.sendAll(ctx, &w.out))
	w.pieces = [3][]byte{} // releases the batch's memory
	job.PutBatch(b)
	return err
}

func (w *writer) send(ctx context.Context, message []byte) error {
	return w.sent(ctx, w.peer.send(ctx, message))
}

// sent handles the result of a write. A failure breaks the channel, unless the reader has closed
// its end.
func (w *writer) sent(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() == nil {
		err = lost(w.key, "%w", err)
	}
	w.fail(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone || w.done {
		return nil
	}
	return w.err
}

// admit waits for room. False means that the reader has closed its end.
func (w *writer) admit(ctx context.Context, n int64) (bool, error) {
	if done, send, err := w.tryAdmit(n); done {
		return send, err
	}
	w.mu.Lock()
	stall := w.stall
	w.mu.Unlock()
	late := time.NewTimer(stall)
	defer late.Stop()
	for {
		select {
		case <-w.wake:
		case <-late.C:
			// If it fails, the goroutine that reads the socket reports it.
			_ = w.peer.send(ctx, control.Append(nil, msgFull, nil))
			stall = min(2*stall, max(w.tick, stall))
			late.Reset(stall)
		case <-ctx.Done():
			return false, ctx.Err()
		}
		if done, send, err := w.tryAdmit(n); done {
			return send, err
		}
	}
}

// tryAdmit returns whether the wait is over, and whether to send the batch.
func (w *writer) tryAdmit(n int64) (done, send bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.gone:
		return true, false, nil
	case w.err != nil:
		return true, false, w.err
	case w.flight == 0 || w.flight+n <= w.window:
		w.flight += n
		return true, true, nil
	}
	return false, false, nil
}

// Close sends the end, and waits until the reader has everything in memory.
func (w *writer) Close(ctx context.Context) error {
	w.mu.Lock()
	gone, err := w.gone, w.err
	w.mu.Unlock()
	if err != nil && !gone {
		return err
	}
	if !gone {
		if err := w.send(ctx, control.Append(nil, msgEnd, control.Body{}.U64(uint64(w.records)))); err != nil {
			return err
		}
	}
	select {
	case <-w.over:
	case <-ctx.Done():
		w.Abort(ctx.Err())
		return ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done && !w.gone {
		return w.err
	}
	w.err = fmt.Errorf("%v: %w", w.key, channel.ErrClosed)
	return nil
}

// Abort sends the reader the cause, if that is possible at once, and closes the connection.
func (w *writer) Abort(cause error) {
	closed := fmt.Errorf("%v: %w: aborted: %w", w.key, channel.ErrClosed, cause)
	w.mu.Lock()
	finished := w.done || w.gone || w.err != nil
	if w.err == nil && !w.done {
		w.err = closed // before the reader closes the connection, which must not become the error
	}
	w.mu.Unlock()
	if !finished && w.peer.write.TryLock() {
		_ = w.peer.conn.SetWriteDeadline(time.Now().Add(time.Second)) // a courtesy: a closed connection says enough
		_ = w.peer.sendLocked(context.Background(), control.Append(nil, msgAbort, control.Body{}.Text(cause.Error())))
		w.peer.write.Unlock()
	}
	w.fail(closed)
	<-w.over
}

// fail breaks the channel for the first reason given.
func (w *writer) fail(err error) {
	w.mu.Lock()
	if w.err == nil && !w.done {
		w.err = err
	}
	w.mu.Unlock()
	w.peer.close()
	w.signal()
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// listen receives the reader's messages until the channel is over.
func (w *writer) listen() {
	defer close(w.over)
	defer w.signal()
	defer w.peer.close()
	for {
		kind, body, err := w.peer.in.Next()
		if err == nil {
			err = w.hear(kind, body)
		}
		if errors.Is(err, errOver) {
			return
		}
		if err != nil {
			w.mu.Lock()
			if w.err == nil && !w.gone {
				w.err = lost(w.key, "its reader hung up: %w", control.NoEnd(err))
			}
			w.mu.Unlock()
			return
		}
	}
}

// errOver makes listen end without a failure.
var errOver = errors.New("over")

func (w *writer) hear(kind byte, body *control.Parser) error {
	switch kind {
	case msgBeat:
		return body.End()
	case msgCredit, msgAside:
		n := int64(body.U64())
		w.mu.Lock()
		defer w.mu.Unlock()
		if kind == msgAside {
			w.stall = max(w.stall/2, stallLeast)
		}
		if n < 0 || n > w.flight {
			return fmt.Errorf("%w: credit of %d for %d in flight", control.ErrGarbled, n, w.flight)
		}
		w.flight -= n
		w.signal()
		return body.End()
	case msgDone:
		w.mu.Lock()
		defer w.mu.Unlock()
		w.done = true
		return errOver
	case msgGone:
		w.mu.Lock()
		w.gone = true
		w.mu.Unlock()
		w.signal()
		// The reader waits for an end so that it can close the connection. The node may be busy for
		// long, so the end is sent from here.
		return w.peer.send(context.Background(), control.Append(nil, msgEnd, control.Body{}.U64(0)))
	}
	return fmt.Errorf("%w: kind %d from a reader", control.ErrGarbled, kind)
}

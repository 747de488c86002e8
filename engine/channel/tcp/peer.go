package tcp

import (
	"bufio"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel/internal/control"
)

// readBytes gathers small messages; the rest of a large block bypasses it.
const readBytes = 4 << 10

// peer is one end of a connection after the handshake. It writes whole messages, sends heartbeats,
// and notices silence.
type peer struct {
	conn net.Conn
	raw  *bufio.Reader // blocks are read from here
	in   *control.Reader

	write sync.Mutex // held while a message is written
	sent  atomic.Bool
	heard atomic.Bool
	busy  atomic.Bool // no goroutine reads the socket now: silence says nothing

	mu      sync.Mutex
	timers  [2]*time.Timer
	stopped bool
}

func newPeer(c net.Conn) *peer {
	p := &peer{conn: c}
	p.raw = bufio.NewReaderSize(hearing{p}, readBytes)
	p.in = control.NewReader(p.raw)
	return p
}

// hearing records that bytes came.
type hearing struct{ p *peer }

func (h hearing) Read(b []byte) (int, error) {
	n, err := h.p.conn.Read(b)
	if n > 0 {
		h.p.heard.Store(true)
	}
	return n, err
}

// watch sends a heartbeat each tick, and calls silent once after SilentTicks without a message of
// the peer. Each has its own timer, since a heartbeat may block.
func (p *peer) watch(tick time.Duration, silent func()) {
	quiet := 0
	p.every(0, tick, func() bool {
		if p.heard.Swap(false) || p.busy.Load() {
			quiet = 0
		} else if quiet++; quiet >= SilentTicks {
			silent()
			return false
		}
		return true
	})
	beat := control.Append(nil, msgBeat, nil)
	p.every(1, tick, func() bool {
		if !p.sent.Swap(false) {
			return p.send(context.Background(), beat) == nil
		}
		return true
	})
}

// every calls f each tick until it returns false or the peer is closed.
func (p *peer) every(i int, tick time.Duration, f func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	p.timers[i] = time.AfterFunc(tick, func() {
		if f() {
			p.every(i, tick, f)
		}
	})
}

// sendAll writes one message that is in pieces, and empties pieces.
func (p *peer) sendAll(ctx context.Context, pieces *net.Buffers) error {
	p.write.Lock()
	defer p.write.Unlock()
	return p.writing(ctx, func() error {
		_, err := pieces.WriteTo(p.conn)
		return err
	})
}

// send writes one message. If ctx ends in the middle, the write fails and the connection can't be
// used any more.
func (p *peer) send(ctx context.Context, message []byte) error {
	p.write.Lock()
	defer p.write.Unlock()
	return p.sendLocked(ctx, message)
}

func (p *peer) sendLocked(ctx context.Context, message []byte) error {
	return p.writing(ctx, func() error {
		_, err := p.conn.Write(message)
		return err
	})
}

// writing calls write, which the end of ctx breaks off. The caller holds write.
func (p *peer) writing(ctx context.Context, write func() error) error {
	p.sent.Store(true)
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, func() { _ = p.conn.SetWriteDeadline(time.Unix(1, 0)) })
		defer stop()
	}
	err := write()
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// close closes the connection and ends all waits for it.
func (p *peer) close() {
	p.mu.Lock()
	p.stopped = true
	for _, t := range p.timers {
		if t != nil {
			t.Stop()
		}
	}
	p.mu.Unlock()
	_ = p.conn.Close()
}

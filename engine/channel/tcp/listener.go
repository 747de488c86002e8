package tcp

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/internal/control"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// Listener takes the connections of all streamed channels that a worker reads.
// Safe for concurrent use.
type Listener struct {
	l      net.Listener
	token  string
	o      Options
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup
	spill  *share        // disk space, shared by all channels
	slots  chan struct{} // one for each connection before its rendezvous

	mu     sync.Mutex
	places map[Key]*place
	count  int64 // readers expected so far
	closed bool
}

// place is where a writer's connection and its reader meet.
type place struct {
	ready  chan struct{} // closed when reader is set
	reader *reader
	taken  bool // a connection is attached
	wait   int  // number of waiting connections
}

// Listen serves on l until Close. A client must show the token at once: it is one for all channels
// of a bundle attempt.
func Listen(l net.Listener, token string, o Options) *Listener {
	s := &Listener{l: l, token: token, o: o.filled(), places: map[Key]*place{}, slots: make(chan struct{}, handshakesMax)}
	s.spill = &share{o: s.o}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.work.Go(s.accept)
	return s
}

// Addr returns the address that writers dial.
func (s *Listener) Addr() net.Addr { return s.l.Addr() }

// Expect returns the source of one channel. The writer may have dialled already or dial later;
// until then Next waits. A channel can be expected once.
func (s *Listener) Expect(k Key) (job.Source, error) {
	if len(k.Channel) > NameMax {
		return nil, fmt.Errorf("%v: its name is longer than %d bytes", k, NameMax)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("%v: listener: %w", k, channel.ErrClosed)
	}
	p := s.place(k)
	if p.reader != nil {
		return nil, fmt.Errorf("%v is expected already", k)
	}
	s.count++
	p.reader = &reader{key: k, wake: make(chan struct{}, 1), window: s.o.Window, aside: aside{share: s.spill}}
	close(p.ready)
	return p.reader, nil
}

// place returns the meeting place of k; the caller holds mu.
func (s *Listener) place(k Key) *place {
	p := s.places[k]
	if p == nil {
		p = &place{ready: make(chan struct{})}
		s.places[k] = p
	}
	return p
}

// Close ends every channel. Channels that have ended, or whose node closed them on purpose, end
// once their writers know it. The others end at once, as lost.
func (s *Listener) Close() error {
	s.mu.Lock()
	s.closed = true
	var all, cut []*reader
	for _, p := range s.places {
		if p.reader != nil {
			all = append(all, p.reader)
		}
		if p.reader != nil && !p.reader.draining() {
			cut = append(cut, p.reader)
		}
	}
	s.mu.Unlock()
	s.cancel()
	err := s.l.Close()
	for _, r := range cut {
		r.fail(fmt.Errorf("%v: listener: %w", r.key, channel.ErrClosed))
	}
	s.work.Wait()
	for _, r := range all {
		r.dropAside()
	}
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return err
}

func (s *Listener) accept() {
	for {
		select {
		case s.slots <- struct{}{}:
		case <-s.ctx.Done():
			return
		}
		c, err := s.l.Accept()
		if err != nil {
			<-s.slots
			if s.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			s.o.Log.Warn("streaming port cannot accept a connection", "error", err)
			select {
			case <-time.After(s.o.Tick):
			case <-s.ctx.Done():
			}
			continue
		}
		s.work.Go(func() { s.serve(c) })
	}
}

// serve brings the connection to its reader, and reads it to its end.
func (s *Listener) serve(c net.Conn) {
	p := newPeer(c)
	defer p.close()
	r, err := s.meet(p)
	<-s.slots
	if err != nil {
		if s.ctx.Err() == nil {
			s.o.Log.Warn("streaming port refuses a connection", "peer", c.RemoteAddr().String(), "error", err)
			_ = p.conn.SetWriteDeadline(time.Now().Add(s.o.Hello))
			_ = p.send(s.ctx, control.Append(nil, msgNo, control.Body{}.Text(err.Error()))) // it is refused either way
		}
		return
	}
	r.attach(p, s.o)
}

// meet reads the hello and waits for the reader that expects it.
func (s *Listener) meet(p *peer) (*reader, error) {
	stop := context.AfterFunc(s.ctx, func() { _ = p.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := p.conn.SetDeadline(time.Now().Add(s.o.Hello)); err != nil {
		return nil, err
	}
	kind, body, err := p.in.Next()
	if err != nil {
		return nil, err
	}
	if kind != msgHello {
		return nil, fmt.Errorf("%w: it begins with kind %d", control.ErrGarbled, kind)
	}
	k, token, err := parseHello(body)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(s.token), []byte(token)) != 1 {
		return nil, fmt.Errorf("%v: wrong token", k)
	}
	if s.o.Known != nil {
		s.o.Known(p.conn)
	}
	r, err := s.rendezvous(k)
	if err != nil {
		return nil, err
	}
	if err := p.conn.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	return r, p.send(s.ctx, control.Append(nil, msgAccept, control.Body{}.U64(uint64(r.window))))
}

func (s *Listener) rendezvous(k Key) (*reader, error) {
	s.mu.Lock()
	p := s.place(k)
	p.wait++
	s.mu.Unlock()
	patience := time.NewTimer(RendezvousMax)
	defer patience.Stop()
	select {
	case <-p.ready:
	case <-patience.C:
	case <-s.ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.wait--
	switch {
	case p.reader == nil:
		if p.wait == 0 {
			delete(s.places, k)
		}
		return nil, fmt.Errorf("%v: nobody here expects it", k)
	case p.taken:
		return nil, fmt.Errorf("%v: its writer is connected already", k)
	case s.closed:
		return nil, fmt.Errorf("%v: listener: %w", k, channel.ErrClosed)
	}
	p.taken = true
	p.reader.window = max(min(s.o.Window, s.o.Budget/max(s.count, 1)), min(s.o.Window, windowLeast))
	return p.reader, nil
}

package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/internal/control"
)

// location is the address of a store and its launcher. A connection is reused only for the launcher
// that it proved.
type location struct{ addr, launcher string }

// link is one connection to a store.
type link struct {
	conn net.Conn
	at   location
	raw  *bufio.Reader // source of in and of the data
	in   *control.Reader
	out  []byte
}

// linkBytes gathers an answer's messages and small data into one read; larger data bypass it.
const linkBytes = 4 << 10

// newLink wraps a connection; the hello goes out with the first request.
func newLink(c net.Conn, at location) *link {
	raw := bufio.NewReaderSize(c, linkBytes)
	return &link{
		conn: c, at: at, raw: raw, in: control.NewReader(raw),
		out: control.Append(nil, msgHello, control.Body{}.Text(protocol).U32(version)),
	}
}

func (l *link) close() { _ = l.conn.Close() }

// ask makes one request and appends the answer's bytes to into. It stops early when ctx ends. After
// any error but a no the link can't be used again.
func (l *link) ask(ctx context.Context, r request, into []byte) (have, []byte, error) {
	stop := context.AfterFunc(ctx, l.expire)
	defer stop()
	h, data, err := l.exchange(ctx, r, into)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return h, data, err
}

// expire ends what waits for the connection.
func (l *link) expire() { _ = l.conn.SetDeadline(time.Unix(1, 0)) }

func (l *link) exchange(ctx context.Context, r request, into []byte) (have, []byte, error) {
	if err := l.send(ctx, r); err != nil {
		return have{}, nil, err
	}
	return l.receive(ctx, r, into)
}

// send sends requests together. Their answers come in the same order.
func (l *link) send(ctx context.Context, all ...request) error {
	for _, r := range all {
		l.out = r.message(l.out)
	}
	if err := l.patience(ctx); err != nil {
		return err
	}
	_, err := l.conn.Write(l.out)
	l.out = l.out[:0]
	return err
}

// receive reads the answer to a request, and appends its bytes to into.
func (l *link) receive(ctx context.Context, r request, into []byte) (have, []byte, error) {
	kind, p, err := l.in.Next()
	if err != nil {
		return have{}, nil, control.NoEnd(err)
	}
	if kind == msgNo {
		return have{}, nil, parseNo(p)
	}
	if kind != msgHave {
		return have{}, nil, fmt.Errorf("%w: answer of kind %d", control.ErrGarbled, kind)
	}
	h, err := parseHave(p)
	if err != nil {
		return have{}, nil, err
	}
	if h.n > uint64(r.limit) || r.offset > h.bytes || h.n > h.bytes-r.offset {
		return have{}, nil, fmt.Errorf("%w: %d bytes sent where %d were asked for", control.ErrGarbled, h.n, r.limit)
	}
	data, err := l.body(ctx, into, int(h.n))
	if err != nil {
		return have{}, nil, err
	}
	return h, data, l.end(h)
}

// body reads n bytes. The store must not be silent for silenceMax in the middle.
func (l *link) body(ctx context.Context, into []byte, n int) ([]byte, error) {
	if cap(into) < n {
		into = make([]byte, 0, n)
	}
	data := into[:n]
	for got := 0; got < n; {
		if err := l.patience(ctx); err != nil {
			return nil, err
		}
		m, err := l.raw.Read(data[got:])
		got += m
		if err != nil && got < n {
			return nil, control.NoEnd(err)
		}
	}
	return data, nil
}

// end reads the end of an answer.
func (l *link) end(h have) error {
	kind, p, err := l.in.Next()
	switch {
	case err != nil:
		return control.NoEnd(err)
	case kind == msgNo:
		return parseNo(p)
	case kind != msgEnd:
		return fmt.Errorf("%w: answer ends with kind %d", control.ErrGarbled, kind)
	}
	n := p.U64()
	if err := p.End(); err != nil {
		return err
	}
	if n != h.n {
		return fmt.Errorf("%w: answer of %d bytes says it has %d", control.ErrGarbled, h.n, n)
	}
	return nil
}

// patience sets a deadline of silenceMax from now. The check after it keeps it from undoing the
// deadline that the end of ctx has set.
func (l *link) patience(ctx context.Context) error {
	if err := l.conn.SetDeadline(time.Now().Add(silenceMax)); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return nil
}

// fetch gets one window, over a new connection if necessary. It retries if the store cannot be
// reached.
func (f *Fetcher) fetch(ctx context.Context, at location, r request, into []byte) (have, []byte, error) {
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return have{}, nil, ctx.Err()
	}
	defer func() { <-f.slots }()
	var last error
	for try := 0; try < triesMax; {
		h, data, fresh, err := f.once(ctx, at, r, into)
		switch {
		case err == nil:
			return h, data, nil
		case ctx.Err() != nil:
			return have{}, nil, ctx.Err()
		case final(err):
			return have{}, nil, refused(r, at, err)
		}
		last = err
		if !fresh {
			continue // the connection had gone stale; the pool of idle ones is bounded
		}
		if try++; try < triesMax {
			pause(ctx, f.pause<<(try-1))
		}
	}
	return have{}, nil, fmt.Errorf("%w: %v from %s, tried %d times: %w", channel.ErrUnreachable, r.Key, at.addr, triesMax, last)
}

// once makes one request; fresh reports whether its connection was new.
func (f *Fetcher) once(ctx context.Context, at location, r request, into []byte) (h have, data []byte, fresh bool, err error) {
	l, used, err := f.link(ctx, at)
	if err != nil {
		return have{}, nil, true, err
	}
	h, data, err = l.ask(ctx, r, into)
	if err == nil || (final(err) && ctx.Err() == nil) {
		f.keep(l)
	} else {
		l.close()
	}
	return h, data, !used, err
}

// refused adds to an error of the store what was asked for, and where.
func refused(r request, at location, err error) error {
	return fmt.Errorf("%v from %s: %w", r.Key, at.addr, err)
}

// final reports whether the store itself answered with an error.
func final(err error) bool {
	return errors.Is(err, channel.ErrLost) || errors.Is(err, channel.ErrDamaged) || errors.Is(err, channel.ErrRefused)
}

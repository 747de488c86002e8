package hdfs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	lib "github.com/colinmarc/hdfs/v2"
)

// session is a client of the library and its connections. A client makes one call
// at a time and keeps the connection it has, in step or not: so a session belongs to
// one user at a time, and one that saw trouble is thrown away.
type session struct {
	client  *lib.Client
	address string // of the NameNode dialled last
	conns   conns
	once    sync.Once // the library's Close must not be called twice

	mu       sync.Mutex
	ctx      context.Context // of the call under way: the library dials without one
	dialErrs []error         // of NameNodes, in the call under way
}

// dialer is how a client reaches DataNodes. The context it gets says nothing.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// errNoData is for clients that are meant for calls only.
var errNoData = errors.New("this client reads and writes no blocks")

// connect makes a session. ctx bounds its making.
func (c *cluster) connect(ctx context.Context, data dialer) (*session, error) {
	s := &session{}
	s.enter(ctx)
	o := c.base
	o.Addresses = c.addresses()
	if o.KerberosClient != nil {
		var err error
		if o.KerberosClient, err = c.login(); err != nil {
			return nil, &finalError{err}
		}
	}
	o.NamenodeDialFunc = func(_ context.Context, network, address string) (net.Conn, error) {
		return s.dialName(c, network, address)
	}
	o.DatanodeDialFunc = data
	if data == nil {
		o.DatanodeDialFunc = func(context.Context, string, string) (net.Conn, error) { return nil, errNoData }
	}
	stop := context.AfterFunc(ctx, func() { s.conns.closeAll() })
	defer stop()
	var err error
	if s.client, err = lib.NewClient(o); err != nil {
		s.conns.closeAll()
		return nil, s.worst(err)
	}
	return s, nil
}

// enter begins a call.
func (s *session) enter(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx, s.dialErrs = ctx, nil
}

// worst is the error of a call. The library turns errors of connecting into text:
// where no NameNode could be reached because none has a known name, that is final.
func (s *session) worst(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.dialErrs {
		var unknown *net.DNSError
		if !errors.As(e, &unknown) || !unknown.IsNotFound {
			return err
		}
	}
	if len(s.dialErrs) == 0 {
		return err
	}
	return &finalError{fmt.Errorf("%w: check the name in the URL or in fs.defaultFS", errors.Join(s.dialErrs...))}
}

// dialName connects to a NameNode.
func (s *session) dialName(c *cluster, network, address string) (net.Conn, error) {
	s.mu.Lock()
	ctx := s.ctx
	s.mu.Unlock()
	conn, err := (&net.Dialer{Timeout: c.set.Dial}).DialContext(ctx, network, address)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.dialErrs = append(s.dialErrs, err)
		return nil, err
	}
	s.address = address
	return s.conns.add(&nameConn{timedConn: timedConn{Conn: conn, each: c.set.Call}})
}

// close ends a session, if need be in mid-call. It may be called again.
func (s *session) close() {
	s.once.Do(func() {
		s.conns.closeAll()
		_ = s.client.Close() // its connection is closed already
	})
}

// timedConn bounds each step of a connection. Deadlines of the library, which does
// not know of ours, have no effect.
type timedConn struct {
	net.Conn
	each time.Duration
}

func (c *timedConn) Read(p []byte) (int, error) {
	if err := c.Conn.SetReadDeadline(time.Now().Add(c.each)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *timedConn) Write(p []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.each)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func (c *timedConn) SetDeadline(time.Time) error      { return nil }
func (c *timedConn) SetReadDeadline(time.Time) error  { return nil }
func (c *timedConn) SetWriteDeadline(time.Time) error { return nil }

// answerMax bounds a NameNode's first answer, in bytes: the default of Hadoop's
// ipc.maximum.response.length. The library would make room for what any other
// server's first four bytes mean as a length.
const answerMax = 128 << 20

// nameConn looks at the first four bytes that a NameNode sends.
type nameConn struct {
	timedConn
	head []byte
	err  error
}

func (c *nameConn) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.timedConn.Read(p)
	if missing := 4 - len(c.head); missing > 0 && n > 0 {
		c.head = append(c.head, p[:min(n, missing)]...)
		if len(c.head) == 4 && binary.BigEndian.Uint32(c.head) > answerMax {
			c.err = &finalError{fmt.Errorf("what listens at %s is no NameNode (it answers %q): check the port; WebHDFS's is another one", c.RemoteAddr(), c.head)}
			return 0, c.err
		}
	}
	return n, err
}

// conns are the open connections of a session or a stream.
type conns struct {
	mu     sync.Mutex
	open   map[net.Conn]struct{}
	closed bool
}

// add takes a connection in, or closes it when it comes too late.
func (c *conns) add(conn net.Conn) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	if c.open == nil {
		c.open = map[net.Conn]struct{}{}
	}
	c.open[conn] = struct{}{}
	return conn, nil
}

// drop closes all there is; others may follow.
func (c *conns) drop() {
	c.mu.Lock()
	open := c.open
	c.open = nil
	c.mu.Unlock()
	for conn := range open {
		_ = conn.Close() // nobody waits for what it has to say
	}
}

// closeAll closes all there is and all that comes.
func (c *conns) closeAll() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.drop()
}

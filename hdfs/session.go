package hdfs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	lib "github.com/colinmarc/hdfs/v2"
	"golang.org/x/sys/unix"
)

// session is a client of the library and its connections. A client makes one call at a time and
// keeps its connection, in step or not. So a session has one user at a time, and is discarded after
// trouble.
type session struct {
	cluster *cluster
	client  *lib.Client
	address string // of the NameNode dialled last
	conns   conns
	once    sync.Once       // the library's Close must not be called twice
	life    context.Context // ends with the session
	end     context.CancelFunc

	mu       sync.Mutex
	ctx      context.Context // of the current call: the library dials without one
	dialErrs []error         // of NameNodes, in the current call
	patient  bool            // the session outlives its first call: see persist
	dialled  map[string]time.Time
	trouble  time.Time // when the current series of dials began
	last     time.Time // time of the last dial
}

// redialEvery is the least time between two dials of a NameNode by one session.
const redialEvery = 500 * time.Millisecond

// dialer connects a client to DataNodes. The library's context carries no deadline.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// errNoData is the dial error of clients that are meant for calls only.
var errNoData = errors.New("this client reads and writes no blocks")

// connect makes a session. ctx bounds that. A lasting session may persist later.
func (c *cluster) connect(ctx context.Context, data dialer, lasting bool) (*session, error) {
	s := &session{cluster: c, dialled: map[string]time.Time{}}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.enter(ctx)
	o := c.base
	o.Addresses = c.addresses()
	if lasting {
		// The library tries each address once, skips it for five seconds and fails if none is left.
		// So it gets enough copies of them for all of Options.Wait.
		o.Addresses = slices.Repeat(o.Addresses, 1+int(c.set.Wait/redialEvery))
	}
	if o.KerberosClient != nil {
		var err error
		if o.KerberosClient, err = c.login(); err != nil {
			return nil, &finalError{err}
		}
	}
	o.NamenodeDialFunc = func(_ context.Context, network, address string) (net.Conn, error) {
		return s.dialName(network, address)
	}
	o.DatanodeDialFunc = data
	if data == nil {
		o.DatanodeDialFunc = func(context.Context, string, string) (net.Conn, error) { return nil, errNoData }
	}
	stop := context.AfterFunc(ctx, func() { s.conns.closeAll() })
	defer stop()
	var err error
	if s.client, err = lib.NewClient(o); err != nil {
		s.end()
		s.conns.closeAll()
		return nil, s.worst(err)
	}
	return s, nil
}

// at returns the NameNode dialled last.
func (s *session) at() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

// enter begins a call.
func (s *session) enter(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx, s.dialErrs = ctx, nil
}

// worst returns the error of a call. The library turns errors of connecting into text. If no
// NameNode's name can be resolved, the error is final.
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

// persist makes the calls of a session that lasts as long as ctx wait for a NameNode. Other calls
// are repeated instead, but the library keeps state between calls that write a file, so these can't
// be.
func (s *session) persist(ctx context.Context) {
	s.enter(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.patient = true
}

var errDialled = errors.New("it was tried a moment ago")

// mayDial waits until a NameNode may be dialled again. A patient session redials for wait; any
// other dials each NameNode once.
func (s *session) mayDial(address string, wait time.Duration) (context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, now := s.ctx, time.Now()
	if now.Sub(s.last) > 2*redialEvery {
		s.trouble = now
	}
	s.last = now
	soon := redialEvery - now.Sub(s.dialled[address])
	if soon > 0 && (!s.patient || now.Sub(s.trouble) > wait) {
		if n := len(s.dialErrs); n > 0 {
			return nil, s.dialErrs[n-1]
		}
		return nil, errDialled
	}
	if soon > 0 {
		s.mu.Unlock()
		select {
		case <-time.After(soon):
		case <-ctx.Done():
		case <-s.life.Done():
		}
		s.mu.Lock()
	}
	s.last = time.Now()
	s.dialled[address] = s.last
	return ctx, errors.Join(ctx.Err(), s.life.Err())
}

// dialName connects to a NameNode.
func (s *session) dialName(network, address string) (net.Conn, error) {
	set := s.cluster.set
	ctx, err := s.mayDial(address, set.Wait)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	conn, err := (&net.Dialer{Timeout: set.Dial}).DialContext(ctx, network, address)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
	if err != nil {
		if s.patient {
			s.dialErrs = nil // keep one: a patient session collects many
		}
		s.dialErrs = append(s.dialErrs, err)
		return nil, err
	}
	s.address = address
	return s.conns.add(&nameConn{timedConn: timedConn{Conn: conn, each: set.Call}})
}

// close ends a session, even during a call. It may be called again.
func (s *session) close() {
	s.once.Do(func() {
		s.end()
		s.conns.closeAll()
		_ = s.client.Close() // its connection is closed already
	})
}

// timedConn sets a deadline for each step of a connection. It ignores the library's deadlines,
// which would override them.
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
// ipc.maximum.response.length. The library would allocate whatever length the first four bytes of a
// foreign server mean.
const answerMax = 128 << 20

// nameConn checks the first four bytes that a NameNode sends. If the NameNode has closed the
// connection, a call fails before it is sent, so that the library repeats it on another one. After
// it is sent, its outcome would be unknown.
type nameConn struct {
	timedConn
	head []byte
	err  error
}

func (c *nameConn) Write(p []byte) (int, error) {
	if raw, ok := c.Conn.(syscall.Conn); ok && closed(raw) {
		return 0, fmt.Errorf("the NameNode %s has closed the connection", c.RemoteAddr())
	}
	return c.timedConn.Write(p)
}

// closed reports whether the other end has closed a connection on which it has nothing to send.
func closed(conn syscall.Conn) (gone bool) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	err = raw.Control(func(fd uintptr) {
		n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT) //nolint:gosec // a descriptor is small
		gone = n <= 0 && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
	})
	return gone || err != nil
}

func (c *nameConn) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.timedConn.Read(p)
	if missing := 4 - len(c.head); missing > 0 && n > 0 {
		c.head = append(c.head, p[:min(n, missing)]...)
		if len(c.head) == 4 && binary.BigEndian.Uint32(c.head) > answerMax {
			c.err = &finalError{fmt.Errorf("what listens at %s is no NameNode (it answers %q): check the port; that of its web pages is another one", c.RemoteAddr(), c.head)}
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

// add adds a connection, or closes it if closeAll came first.
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

// drop closes all connections; new ones may be added.
func (c *conns) drop() {
	c.mu.Lock()
	open := c.open
	c.open = nil
	c.mu.Unlock()
	for conn := range open {
		_ = conn.Close() // no caller needs its error
	}
}

// closeAll closes all connections, and those added later.
func (c *conns) closeAll() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.drop()
}

package connlimit

import (
	"bufio"
	"container/list"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

// Conn is a connection that a Table counts.
type Conn struct {
	net.Conn
	table *Table
	from  netip.Addr
	began time.Time
	heard atomic.Bool   // the other side sent something
	first *bufio.Reader // of Peek; nil: nothing was peeked
	over  chan struct{} // closed by Close

	// The table's mutex guards these.
	place    *list.Element // among the waiting connections; nil: it does not wait
	holder   string        // the principal or address that it counts for as open; "": none
	requests int           // under way
	active   bool          // HTTP: a request has begun to arrive, or its answer is being sent
	worked   bool          // HTTP: the request arrived, and was handed on
	closed   bool
}

// Of finds the table's connection below wrappers such as a TLS connection; nil: there is none.
func Of(c net.Conn) *Conn {
	for c != nil {
		if found, ok := c.(*Conn); ok {
			return found
		}
		above, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		c = above.NetConn()
	}
	return nil
}

// NetConn is the connection below.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (n int, err error) {
	if c.first != nil && c.first.Buffered() > 0 {
		return c.first.Read(p[:min(len(p), c.first.Buffered())])
	}
	n, err = c.Conn.Read(p)
	if n > 0 && !c.heard.Load() {
		c.heard.Store(true)
		if late := c.takeTurn(); late != nil {
			return 0, late
		}
	}
	return n, err
}

// takeTurn makes a connection that begins to send wait for its address's turn. A silent connection
// uses no turn.
func (c *Conn) takeTurn() error {
	wait := c.table.turn(c.from, time.Now())
	if wait <= 0 {
		return nil
	}
	if wait > turnMax {
		c.table.log.Warn("a connection is closed, since its address makes too many", "address", c.from)
		_ = c.Close()
		return net.ErrClosed
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-c.over:
		return net.ErrClosed
	}
}

// ReadFrom implements io.ReaderFrom: files are sent by the kernel.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.Conn, r) }

// Await waits until n bytes have arrived; Read returns them afterwards. The reading goroutine calls
// it before its first Read.
func (c *Conn) Await(n int) error {
	c.first = bufio.NewReaderSize(c.Conn, n)
	if _, err := c.first.Peek(n); err != nil {
		return err
	}
	c.heard.Store(true)
	return c.takeTurn()
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	t := c.table
	t.mu.Lock()
	t.leave(c)
	if !c.closed && c.holder != "" {
		t.give(c.holder)
	}
	if !c.closed {
		close(c.over)
	}
	c.closed = true
	t.mu.Unlock()
	return c.Conn.Close()
}

// Prove counts a connection as open from now on: for its principal, or for its address where
// principal is "". An error means that there are too many; the caller then closes the connection.
func (t *Table) Prove(conn net.Conn, principal string) error {
	c := Of(conn)
	if c == nil || c.table != t {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	if c.holder != "" {
		return nil
	}
	holder, err := t.acquireSlot(principal, c.from)
	if err != nil {
		t.log.Warn("a connection is refused", "from", c.RemoteAddr(), "error", err)
		return err
	}
	t.leave(c)
	c.holder = holder
	return nil
}

// Known counts a connection as open for a caller that bounds such connections itself.
func (t *Table) Known(conn net.Conn) {
	if c := Of(conn); c != nil {
		t.mu.Lock()
		t.leave(c)
		t.mu.Unlock()
	}
}

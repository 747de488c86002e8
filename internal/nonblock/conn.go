package nonblock

import (
	"errors"
	"io"
	"net"
	"sync"
)

// conn is a connection with the Read and Write of a Socket. Like any other, it is safe for
// concurrent use.
type conn struct {
	net.Conn
	s           *Socket
	read, write sync.Mutex
}

// Conn returns the connection with reads and writes as the package describes. A connection over no
// socket of the system stays as it is.
func Conn(c net.Conn) net.Conn {
	s := Of(c)
	if s == nil {
		return c
	}
	return &conn{Conn: c, s: s}
}

// NetConn is the connection below.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	c.read.Lock()
	defer c.read.Unlock()
	n, err := c.s.Read(p)
	return n, c.named("read", err)
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	c.write.Lock()
	defer c.write.Unlock()
	n, err := c.s.Write(p)
	return n, c.named("write", err)
}

// named returns the error as package net has it.
func (c *conn) named(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if in := (*net.OpError)(nil); errors.As(err, &in) {
		err = in.Err
	}
	return &net.OpError{Op: op, Net: c.LocalAddr().Network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// Listener returns l with connections as Conn returns them.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return Conn(c), nil
}

// Package transport makes a client's gRPC calls on an HTTP/2 connection of net/http. Programs of
// authors link it in place of grpc-go, which makes each of them 7 MB larger. Its traces use
// text/template, and with that the linker keeps every exported method.
//
//	c := transport.New(transport.Options{Address: "127.0.0.1:7070"})
//	err := c.Call(ctx, "/hamadryad.engine.v1.Manager/Pages", &wire.Empty{}, reply)
//
// Errors are those of package google.golang.org/grpc/status. A Conn has one connection, which the
// first call makes, and the first call after it broke. A call fails at once when that fails, and
// until a pause has passed. Calls wait while the connection has as many as the server allows.
//
// Of the protocol it has what the service Manager needs: calls with one answer, with many answers,
// and with many requests. There is no stream in both directions, and no compression of requests.
package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Options are a Conn's. All bounds must be given.
type Options struct {
	Address string      // HOST:PORT, or unix:PATH
	TLS     *tls.Config // nil: the connection is not encrypted
	// Header adds to the header of each call; its error is that of the call. nil: nothing is added.
	Header func(http.Header) error
	// Connect bounds the making of a connection, until the server's first bytes.
	Connect time.Duration
	// PauseMin and PauseMax bound the pause after a connection failed. It grows.
	PauseMin, PauseMax time.Duration
	// The server is pinged after PingEvery without its bytes, and lost after PingMax without an
	// answer.
	PingEvery, PingMax time.Duration
	// AnswerBytesMax bounds a message of an answer.
	AnswerBytesMax int
}

// Conn makes calls to one server. It is safe for concurrent use.
type Conn struct {
	options Options
	life    context.Context
	end     context.CancelFunc

	mu      sync.Mutex
	current *http.ClientConn
	leaving []*http.ClientConn // the server takes no more calls on them; some go on
	attempt *attempt           // nil: no connection is being made
	failure error              // of the last attempt; nil: it succeeded, or there was none
	pause   time.Duration
	again   time.Time // no attempt is made before
}

// attempt is a connection that is being made.
type attempt struct {
	done chan struct{}
	conn *http.ClientConn
	err  error
}

// New makes a Conn. The first call connects.
func New(o Options) *Conn {
	c := &Conn{options: o}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// Close ends the connection and all calls.
func (c *Conn) Close() error {
	c.end()
	c.mu.Lock()
	all := c.leaving
	if c.current != nil {
		all = append(all, c.current)
	}
	c.current, c.leaving = nil, nil
	c.mu.Unlock()
	for _, conn := range all {
		_ = conn.Close() // it always succeeds
	}
	return nil
}

// Connect begins a connection for the first call, and does not wait for it.
func (c *Conn) Connect() { _, _, _ = c.connectionOrAttempt() }

// Absent reports whether a connection is being made, or could not be made.
func (c *Conn) Absent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attempt != nil || c.failure != nil
}

var errClosed = status.Error(codes.Canceled, "the client is closed")

// connection returns the connection, and makes one if there is none.
func (c *Conn) connection(ctx context.Context) (*http.ClientConn, error) {
	conn, a, err := c.connectionOrAttempt()
	if a == nil {
		return conn, err
	}
	select {
	case <-a.done:
		return a.conn, a.err
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// connectionOrAttempt returns the connection, or the attempt that makes one.
func (c *Conn) connectionOrAttempt() (*http.ClientConn, *attempt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.life.Err() != nil:
		return nil, nil, errClosed
	case c.current != nil && c.current.Err() == nil:
		return c.current, nil, nil
	case c.attempt == nil && time.Now().Before(c.again):
		return nil, nil, c.failure
	case c.attempt == nil:
		c.current, c.attempt = nil, &attempt{done: make(chan struct{})}
		go c.connect(c.attempt)
	}
	return nil, c.attempt, nil
}

// connect makes a connection for all calls that wait for it.
func (c *Conn) connect(a *attempt) {
	ctx, cancel := context.WithTimeout(c.life, c.options.Connect)
	defer cancel()
	conn, err := c.options.connection(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(a.done)
	c.attempt = nil
	switch {
	case c.life.Err() != nil:
		a.err = errClosed
		if conn != nil {
			_ = conn.Close()
		}
	case err != nil:
		a.err = status.Error(codes.Unavailable, err.Error())
		c.failure = a.err
		c.pause = min(max(c.options.PauseMin, c.pause*8/5), c.options.PauseMax)
		c.again = time.Now().Add(c.pause*4/5 + rand.N(c.pause*2/5+1)) //nolint:gosec // it keeps clients apart, and is no secret
	default:
		a.conn, c.current, c.failure, c.pause = conn, conn, nil, 0
	}
}

// leave has new calls use another connection. The calls on this one go on.
func (c *Conn) leave(conn *http.ClientConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != conn {
		return
	}
	c.current = nil
	kept := c.leaving[:0]
	for _, other := range append(c.leaving, conn) {
		if other.Err() == nil {
			kept = append(kept, other)
		}
	}
	c.leaving = kept
}

// ErrSilent is the error of a server that takes connections and says nothing.
var ErrSilent = errors.New("the server takes connections and says nothing")

// connection dials, and waits for the server's first bytes. Without them nothing is sent: a peer
// that is no gRPC server is found before a call is lost in it.
func (o *Options) connection(ctx context.Context) (*http.ClientConn, error) {
	raw, err := o.dial(ctx)
	if err != nil {
		return nil, err
	}
	g := &greeting{Conn: raw, came: make(chan struct{})}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true) // TLS is below it
	t := &http.Transport{
		DialContext:        func(context.Context, string, string) (net.Conn, error) { return g, nil },
		Protocols:          &protocols,
		DisableCompression: true,
		HTTP2:              &http.HTTP2Config{SendPingTimeout: o.PingEvery, PingTimeout: o.PingMax},
	}
	conn, err := t.NewClientConn(ctx, "http", "dialed:80")
	if err != nil {
		_ = raw.Close()
		if strings.Contains(err.Error(), "does not support NewClientConn") {
			err = errors.New("this program has no HTTP/2: take http2client=0 out of $GODEBUG, or build it without the tag nethttpomithttp2")
		}
		return nil, err
	}
	select {
	case <-g.came:
		err = g.fault
	case <-ctx.Done():
		err = ErrSilent
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// greeting is a connection that notes whether it begins as a server's of HTTP/2.
type greeting struct {
	net.Conn
	noted bool          // of the reader
	came  chan struct{} // closed after the first read
	fault error         // set before came is closed
}

// settingsFrame is the type of the first frame, which is the fourth byte.
const settingsFrame = 4

// Read implements net.Conn.
func (g *greeting) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if g.noted {
		return n, err
	}
	g.noted = true
	switch {
	case n == 0 && err != nil:
		g.fault = fmt.Errorf("%s: %w", PrefaceFault, err)
	case n > 3 && p[3] != settingsFrame:
		g.fault = errors.New(PrefaceFault + ": it is no gRPC server")
		n, err = 0, g.fault // package net/http would print what it thinks of the bytes
	}
	close(g.came)
	return n, err
}

// PrefaceFault begins the error of a connection that was made, and that the server then closed, or
// used otherwise.
const PrefaceFault = "error reading server preface"

package store

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel/internal/control"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// connsMax bounds the connections that a store serves at once; more wait to be accepted. The
	// listener lets at most WaitingMax of them be without a valid token, so others have room.
	connsMax   = 2048
	WaitingMax = 1024
	// helloMax is how long a new connection may take to say hello.
	helloMax = 5 * time.Second
	// idleMax is how long a connection may wait for its next request. Before it has shown a valid
	// token the bound is helloMax: only connsMax are served, and clients without a token must not
	// keep others out.
	idleMax = 2 * time.Minute
	// requestMax is how long one request, or one answer of at most windowMax bytes, may take on the
	// wire. The peer takes it into memory at once.
	requestMax = time.Minute
	// serverReadBytes is read at once from a connection. It holds the requests that a Fetcher sends
	// together.
	serverReadBytes = togetherBytes
	// acceptPause is the wait after a failed accept (out of descriptors, say).
	acceptPause = 50 * time.Millisecond
)

// Stored is a file on this machine: its path, the token that readers must show, and how to open it.
// If Open is nil, it is opened by path.
type Stored struct {
	Path, Token string
	Open        func() (*os.File, error)
}

// Server serves the files that Lookup finds.
type Server struct {
	// Lookup finds a file. It is called from many goroutines, for every request.
	Lookup func(Key) (Stored, bool)
	// Merged says where there may be a merged copy of a file that Lookup finds; nil: there are none. It is
	// called as Lookup is.
	Merged func(Key) (MergedCopy, bool)
	// MergedPrefix is the prefix of the paths (MergedPath) of a connection's merged files.
	MergedPrefix func(job scheduler.JobID, connection uint32) string
	// Log gets a line for each refused connection and request; nil means
	// slog.Default().
	Log *slog.Logger
	// Known is called once for each connection that shows a valid token; nil: no callback.
	Known func(net.Conn)

	sent   atomic.Int64
	files  *openFiles
	copies servedCopies
	hello  time.Duration // helloMax, or a test's own
}

// Sent returns the bytes of stored data sent so far.
func (s *Server) Sent() int64 { return s.sent.Load() }

func (s *Server) log() *slog.Logger {
	if s.Log != nil {
		return s.Log
	}
	return slog.Default()
}

// Serve accepts connections until ctx ends or l fails; it closes l and every
// connection and waits for their goroutines. It returns nil after ctx ended.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.files, s.copies.prefix = newOpenFiles(), s.MergedPrefix
	defer s.files.close()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var conns sync.WaitGroup
	defer conns.Wait()
	defer cancel() // before Wait: ends the connections
	slots := make(chan struct{}, connsMax)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		c, err := l.Accept()
		if err != nil {
			<-slots
			if ctx.Err() != nil {
				return nil
			}
			if !temporary(err) {
				return err
			}
			s.log().Warn("store cannot accept a connection", "error", err)
			pause(ctx, acceptPause)
			continue
		}
		conns.Go(func() {
			defer func() { <-slots }()
			s.serveConn(ctx, c)
		})
	}
}

// temporary reports whether a listener may still work after err.
func temporary(err error) bool {
	return !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF)
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (s *Server) serveConn(ctx context.Context, c net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	defer c.Close()
	err := s.converse(c)
	if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		s.log().Warn("store ends a connection", "peer", c.RemoteAddr().String(), "error", err)
	}
}

// converse answers requests until the peer leaves or misbehaves.
func (s *Server) converse(c net.Conn) error {
	hello := s.hello
	if hello == 0 {
		hello = helloMax
	}
	if err := c.SetDeadline(time.Now().Add(hello)); err != nil {
		return err
	}
	raw := bufio.NewReaderSize(c, serverReadBytes)
	in := control.NewReader(raw)
	kind, p, err := in.Next()
	if err != nil {
		return err
	}
	if kind != msgHello {
		return control.ErrGarbled
	}
	if err := parseHello(p); err != nil {
		return err
	}
	a := answer{server: s, conn: c}
	defer a.close()
	for {
		if raw.Buffered() == 0 { // it has answered all requests that came together
			if err := a.flush(); err != nil {
				return err
			}
		}
		wait := hello
		if a.known {
			wait = idleMax
		}
		if err := c.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return err
		}
		kind, p, err := in.Next()
		if errors.Is(err, io.EOF) || isTimeout(err) {
			return io.EOF // an idle or finished peer is nothing to report
		}
		if err != nil {
			return err
		}
		if kind != msgWant {
			return control.ErrGarbled
		}
		r, err := parseRequest(p)
		if err != nil {
			return err
		}
		if err := a.give(r); err != nil {
			return err
		}
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

package tcp

import (
	"bytes"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel/internal/control"
)

// spoken is a connection on which all was said before.
type spoken struct {
	net.Conn
	said *bytes.Reader
}

func (c *spoken) Read(b []byte) (int, error)       { return c.said.Read(b) }
func (c *spoken) Write(b []byte) (int, error)      { return len(b), nil }
func (c *spoken) Close() error                     { return nil }
func (c *spoken) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *spoken) SetDeadline(time.Time) error      { return nil }
func (c *spoken) SetReadDeadline(time.Time) error  { return nil }
func (c *spoken) SetWriteDeadline(time.Time) error { return nil }

// FuzzStranger says all sorts of things to a port of streamed channels: whoever does not
// show the token meets no reader, and no place is kept for them.
func FuzzStranger(f *testing.F) {
	n, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	l := Listen(n, token, Options{Log: slog.New(slog.DiscardHandler)})
	f.Cleanup(func() { _ = l.Close() })
	for _, t := range []string{"", "open sesam", "open sesame!", "\x00"} {
		f.Add(control.Append(nil, msgHello, helloBody(key(0), t)))
	}
	f.Add(control.Append(nil, msgEnd, control.Body{}.U64(0)))
	f.Fuzz(func(t *testing.T, said []byte) {
		if bytes.Contains(said, []byte(token)) {
			return
		}
		p := newPeer(&spoken{said: bytes.NewReader(said)})
		defer p.close()
		if r, err := l.meet(p); err == nil {
			t.Fatalf("a stranger meets %v", r.key)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.places) > 0 {
			t.Fatalf("places are kept for strangers: %v", l.places)
		}
	})
}

package store

import (
	"bytes"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel/file"
	"github.com/hamadryad/hamadryad/engine/channel/internal/chantest"
	"github.com/hamadryad/hamadryad/engine/channel/internal/control"
)

// spoken is a connection on which all was said before, and that keeps what is answered.
type spoken struct {
	net.Conn
	said   *bytes.Reader
	answer bytes.Buffer
}

func (c *spoken) Read(b []byte) (int, error)       { return c.said.Read(b) }
func (c *spoken) Write(b []byte) (int, error)      { return c.answer.Write(b) }
func (c *spoken) Close() error                     { return nil }
func (c *spoken) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *spoken) SetDeadline(time.Time) error      { return nil }
func (c *spoken) SetReadDeadline(time.Time) error  { return nil }
func (c *spoken) SetWriteDeadline(time.Time) error { return nil }

// FuzzStranger says all sorts of things to a store: whoever does not show the token sees
// nothing of what it has.
func FuzzStranger(f *testing.F) {
	s := &shop{dir: f.TempDir()}
	s.put(f, 1, 1, 3, file.Options{})
	stored := chantest.Record(label(1, 0), 0)
	server := &Server{
		Log:    slog.New(slog.DiscardHandler),
		Lookup: func(k Key) (Stored, bool) { return Stored{Path: s.path(1), Token: token}, k == key(1) },
	}
	hello := control.Append(nil, msgHello, control.Body{}.Text(protocol).U32(version))
	f.Add(hello)
	for _, t := range []string{"", "open sesam", "open sesame!", "\x00"} {
		f.Add(control.Append(bytes.Clone(hello), msgWant, request{Key: key(1), token: t, limit: windowMax}.body()))
	}
	f.Add(control.Append(bytes.Clone(hello), msgWant, request{Key: key(2), token: token, limit: 1}.body()))
	f.Fuzz(func(t *testing.T, said []byte) {
		c := &spoken{said: bytes.NewReader(said)}
		_ = server.converse(c)
		if !bytes.Contains(said, []byte(token)) && bytes.Contains(c.answer.Bytes(), stored) {
			t.Fatalf("a stranger was told %q", c.answer.Bytes())
		}
	})
}

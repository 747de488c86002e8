package tcp

import (
	"bytes"
	"log/slog"
	"net"
	"testing"

	"github.com/hamadryad/hamadryad/engine/channel/internal/chantest"
	"github.com/hamadryad/hamadryad/engine/channel/internal/control"
)

// FuzzStranger sends arbitrary bytes to a port of streamed channels: a client without the token
// meets no reader, and occupies no place.
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
		p := newPeer(&chantest.Spoken{Said: bytes.NewReader(said)})
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

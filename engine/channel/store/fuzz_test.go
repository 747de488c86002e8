package store

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/hamadryad/hamadryad/engine/channel/file"
	"github.com/hamadryad/hamadryad/engine/channel/internal/chantest"
	"github.com/hamadryad/hamadryad/engine/channel/internal/control"
)

// FuzzStranger sends arbitrary requests to a store: without the token a client gets no data.
func FuzzStranger(f *testing.F) {
	s := &shop{dir: f.TempDir()}
	s.put(f, 1, 1, 3, file.Options{})
	stored := chantest.Record(label(1, 0), 0)
	server := &Server{
		Log:    slog.New(slog.DiscardHandler),
		files:  newOpenFiles(),
		Lookup: func(k Key) (Stored, bool) { return Stored{Path: s.path(1), Token: token}, k == key(1) },
	}
	hello := control.Append(nil, msgHello, control.Body{}.Text(protocol).U32(version))
	f.Add(hello)
	for _, t := range []string{"", "open sesam", "open sesame!", "\x00"} {
		f.Add(control.Append(bytes.Clone(hello), msgWant, request{Key: key(1), token: t, limit: windowMax}.body()))
	}
	f.Add(control.Append(bytes.Clone(hello), msgWant, request{Key: key(2), token: token, limit: 1}.body()))
	f.Fuzz(func(t *testing.T, said []byte) {
		c := &chantest.Spoken{Said: bytes.NewReader(said)}
		_ = server.converse(c)
		if !bytes.Contains(said, []byte(token)) && bytes.Contains(c.Answer.Bytes(), stored) {
			t.Fatalf("a stranger was told %q", c.Answer.Bytes())
		}
	})
}

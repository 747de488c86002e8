package worker

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel/tcp"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/layout"
)

// Silent connections, more than a worker's port has room for, exclude no writer from its channel.
func TestSilentConnectionsKeepNoWriterOut(t *testing.T) {
	const silent = 4500
	w := &wiring{start: &wire.StartAttempt{Token: []byte("open sesame")}, bind: "127.0.0.1", layout: &layout.Layout{}, hello: time.Hour}
	l, err := w.listen()
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	for range silent {
		c, err := (&net.Dialer{Timeout: time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 66, 0, 1)}}).Dial("tcp", l.Addr().String())
		if err != nil {
			continue // it was closed before it was dialled
		}
		t.Cleanup(func() { c.Close() })
	}
	key := tcp.Key{Job: 1, Channel: "c0"}
	source, err := l.Expect(key)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	writer, err := tcp.Dial(ctx, l.Addr().String(), key, "open sesame", tcp.Options{})
	if err != nil {
		t.Fatalf("a writer does not reach its reader: %v", err)
	}
	if err := writer.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := source.Close(); err != nil {
		t.Error(err)
	}
}

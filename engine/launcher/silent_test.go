package launcher_test

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/connlimit"
)

// silentMax is more connections than a store or the pages let wait.
const silentMax = 1500

// silence opens connections that send nothing, and leaves them open.
func silence(t *testing.T, address string) {
	t.Helper()
	for range silentMax {
		c, err := (&net.Dialer{Timeout: patience, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 66, 0, 1)}}).Dial("tcp", address)
		if err != nil {
			continue // it was closed before it was dialled
		}
		t.Cleanup(func() { c.Close() })
	}
}

// Silent connections exclude neither readers of a channel, nor clients of health and logs.
func TestSilentConnectionsKeepNoReaderOut(t *testing.T) {
	m := newManager(t)
	limit := func(c *configuration) { c.Cache, c.Limits = t.TempDir(), connlimit.Limits{Network: 1024} }
	one, two := m.launch("one", limit), m.launch("two", limit)
	b := m.job("relay", "file", "1", "1", "1000")
	made := b.attempt(0, 0)
	two.finished(two.start(made))
	silence(t, two.join.DataAddress)
	silence(t, two.join.HttpAddress)
	began := time.Now()
	read := b.attempt(1, 0)
	read.Sources = []*wire.Source{source(two, made, 0, 0)}
	one.start(read)
	if got := counters(one.finished(read.Attempt)); got["sum"] != sumTo(1000) {
		t.Errorf("%v", got)
	}
	web := &http.Client{Timeout: patience}
	for _, path := range []string{"/livez", "/metrics"} {
		answer, err := web.Get("http://" + two.join.HttpAddress + path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
	t.Logf("it took %v", time.Since(began))
}

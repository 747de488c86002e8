package launcher_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/launcher"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// stalledReader requests a log and reads nothing of it.
func (n *node) stalledReader(id uint64, query string) {
	n.m.t.Helper()
	conn, err := net.Dial("tcp", n.join.HttpAddress)
	if err != nil {
		n.m.t.Fatal(err)
	}
	n.m.t.Cleanup(func() { conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		n.m.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET /logs/%d%s HTTP/1.1\r\nHost: launcher\r\n\r\n", id, query); err != nil {
		n.m.t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil { // the server has begun to send
		n.m.t.Fatal(err)
	}
}

// A stalled reader of a log, such as a pager, blocks nothing that the launcher needs: attempts go
// on printing and end, and the lease is renewed.
func TestStalledReaderOfALogHoldsNothing(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	m.lease = leaseShort
	n := m.launch("a", func(c *configuration) { c.LogBytes, c.LogTotal = 32<<20, 64<<20 })
	ticking := n.start(m.job("ticking").attempt(0, 0))
	b := m.job("shout", "15000000")
	shout := n.start(b.attempt(0, 0))
	n.finished(shout)
	n.stalledReader(shout, "")
	n.stalledReader(shout, "?follow=1")
	loud := n.start(m.job("loud").attempt(0, 0))
	n.logged(loud, "line 1000")
	n.stalledReader(loud, "?follow=1")
	n.stop(loud, 0)
	n.ended(loud)
	n.outlives(leaseShort*3/2, ticking)
}

// outlives waits, and then checks that the launcher has not lost an attempt.
func (n *node) outlives(wait time.Duration, id uint64) {
	n.m.t.Helper()
	incarnation := n.join.Incarnation
	until := time.Now().Add(wait)
	waitFor(n.m.t, "the time of a lease and more", func() bool { return time.Now().After(until) })
	n.do(&wire.Command{Do: &wire.Command_ReportInventory{ReportInventory: true}})
	r := n.report("inventory", func(r *wire.Report) bool { return r.GetInventory() != nil }).GetInventory()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range r.Attempts {
		if a.Attempt == id && a.State == wire.AttemptInventory_STATE_RUNNING && n.join.Incarnation == incarnation {
			return
		}
	}
	n.m.t.Errorf("attempt %d does not run any more: %v, incarnation %d after %d", id, r, n.join.Incarnation, incarnation)
}

// A disk that hangs holds up the attempts that print to it and nothing else. Here a pipe in the
// place of a log's file is the disk.
func TestStalledLogDisk(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	m.lease = leaseShort
	n := m.launch("a", nil)
	ticking := n.start(m.job("ticking").attempt(0, 0))
	n.logged(ticking, "tick 1")
	s := m.job("loud").attempt(0, 0)
	path := filepath.Join(m.folders["a"], "logs", fmt.Sprintf("a%d.log", s.Attempt))
	if err := unix.Mkfifo(path, 0o600); err != nil { // opening it for writing waits for a reader
		t.Fatal(err)
	}
	n.start(s)
	n.report("start", func(r *wire.Report) bool { return r.GetStarted().GetAttempt() == s.Attempt })
	n.outlives(leaseShort*3/2, ticking)
	n.stop(s.Attempt, 0)
	n.ended(s.Attempt)
	reader, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	reader.Close() // unblocks writers
}

func TestLogsReadWhileTheyAreOverwritten(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", func(c *launcher.Config) { c.LogBytes, c.LogTotal = 64<<10, 1<<20 })
	id := n.start(m.job("loud").attempt(0, 0))
	n.logged(id, "line ")
	for range 20 {
		text := n.log(id)
		whole, last := 0, -1
		for line := range strings.Lines(text) {
			var i int
			if n, err := fmt.Sscanf(line, "line %d of the loud\n", &i); n != 1 || err != nil {
				continue
			}
			if whole++; i <= last {
				t.Fatalf("line %d comes after line %d", i, last)
			}
			last = i
		}
		if whole == 0 || len(text) > 1<<20 {
			t.Fatalf("%d whole lines in %d bytes", whole, len(text))
		}
	}
	n.stop(id, 0)
	n.ended(id)
}

package worker

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// A group without progress is reported after a while, then less and less often, and once when it
// makes progress again. A group whose nodes do not run is not reported.
func TestIdlenessIsReportedSeldom(t *testing.T) {
	var i idleness
	var told []time.Duration
	for tick := range 10 * int(time.Minute/progressEvery) {
		if i.tick(false, true) {
			told = append(told, time.Duration(tick+1)*progressEvery)
		}
	}
	want := []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second}
	if len(told) < len(want) || len(told) > 20 {
		t.Fatalf("in ten minutes it is reported at %v", told)
	}
	for n, at := range want {
		if told[n] != at {
			t.Errorf("report %d comes after %v, want %v", n, told[n], at)
		}
	}
	m := &wire.AttemptProgress{}
	if i.fill(m, nil); time.Duration(m.IdleNs) != 10*time.Minute {
		t.Errorf("after ten minutes it says %v", time.Duration(m.IdleNs))
	}
	if !i.tick(true, true) || i.tick(true, true) {
		t.Error("that it goes on is not reported once")
	}
	m = &wire.AttemptProgress{}
	if i.fill(m, nil); m.IdleNs != 0 || m.Blocked != "" {
		t.Errorf("while it goes on it says %v", m)
	}
	for range 100 {
		if i.tick(false, false) {
			t.Fatal("it is reported while no node runs")
		}
	}
}

// The text of what nodes wait for is bounded, and valid UTF-8.
func TestWhatNodesWaitForIsBounded(t *testing.T) {
	list := func(nodes ...*node) []*node { return nodes }
	named := func(name string) *node {
		n := &node{spec: &job.StageSpec{Name: name}}
		n.active.beginRunning()
		return n
	}
	reader, idler, over := named("r"), named("i"), named("o")
	reader.active.reading(`reads input "x" from w`).enter()
	over.active.endRunning()
	if text, reads := blocked(list(over, reader)); text != `r.0 reads input "x" from w` || !reads {
		t.Errorf("a node that reads: %q, reads only: %t", text, reads)
	}
	if text, reads := blocked(list(reader, idler)); reads || !strings.Contains(text, "i.0 computes") {
		t.Errorf("with one that computes: %q, reads only: %t", text, reads)
	}
	writer := named("w")
	writer.active.calling(`writes output "y" to r`).enter()
	writer.active.reading(`reads input "x" from v`).enter()
	if text, reads := blocked(list(writer)); reads || text != `w.0 writes output "y" to r and reads input "x" from v` {
		t.Errorf("a node that reads and writes: %q, reads only: %t", text, reads)
	}
	if text, reads := blocked(nil); text != "" || reads {
		t.Errorf("without nodes: %q, %t", text, reads)
	}
	long := named(strings.Repeat("ü", 300) + "\xff")
	if text, _ := blocked(list(reader, long, long)); len(text) > wire.BlockedBytesMax || !utf8.ValidString(text) || !strings.HasSuffix(text, "...") {
		t.Errorf("%d bytes: %q", len(text), text)
	}
}

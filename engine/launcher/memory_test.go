package launcher_test

import (
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// starved checks the end of an attempt that held too much, and that a successor runs.
func (n *node) starved(id uint64, memory string) {
	n.m.t.Helper()
	e := n.ended(id)
	f := e.Failure
	if e.End != wire.End_END_FAILED || f.GetKind() != wire.ErrorKind_ERROR_KIND_PROGRAM {
		n.m.t.Fatalf("%v", e)
	}
	for _, part := range []string{"it may use " + memory, "--memory", "mapreduce.map.memory.mb"} {
		if !strings.Contains(f.Message, part) {
			n.m.t.Errorf("no %q in %q", part, f.Message)
		}
	}
	if e.Work.PeakMemory < 128<<20 {
		n.m.t.Errorf("peak of %d bytes", e.Work.PeakMemory)
	}
}

func TestAttemptThatHoldsTooMuchIsEnded(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	greedy := m.job("eat", "400").attempt(0, 0)
	greedy.Memory = 64 << 20
	n.starved(n.start(greedy), "64 MiB")
	// An attempt may hold all of its memory; the slack is for overhead on top.
	modest := m.job("eat", "100").attempt(0, 0)
	modest.Memory *= raceHolds
	n.finished(n.start(modest))
}

// The memory of a worker's child processes counts, and they die with the worker.
func TestCommandThatHoldsTooMuchIsEnded(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	b := m.job("command", "lines", "sh", "-c", "echo pid $$ >&2; (head -c 300000000 /dev/zero; sleep 1000) | tail -c 300000000")
	members := []member{{n, b.attempt(0, 0)}, {n, b.attempt(1, 0)}, {n, b.attempt(2, 0)}}
	for _, x := range members {
		x.group.Memory = 64 << 20
	}
	meet(startBundle(members...), members...)
	id := members[1].group.Attempt
	pid := n.pid(id, "pid")
	n.starved(id, "64 MiB")
	waitDead(t, pid)
}

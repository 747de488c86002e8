package launcher_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/launcher"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestCommands(t *testing.T) {
	cases := []struct {
		name    string
		args    []string
		records int64 // that come out
		kind    wire.ErrorKind
		message string // of the failure; "" for a success
	}{
		{name: "passes all", args: []string{"lines", "cat"}, records: 10_000},
		{name: "passes all, framed", args: []string{"prefixed", "cat"}, records: 10_000},
		{name: "reads little", args: []string{"lines", "head", "-n", "3"}, records: 3},
		{name: "reads nothing", args: []string{"lines", "true"}},
		{name: "environment", args: []string{"lines", "sh", "-c", "cat > /dev/null; test $GREETING = hello && test $HAMADRYAD_STAGE = run && echo yes"}, records: 1},
		{name: "last line without its end", args: []string{"lines", "printf", "a\nb"}, records: 2},
		{name: "fails", args: []string{"lines", "sh", "-c", "echo what a pity >&2; exit 3"}, kind: wire.ErrorKind_ERROR_KIND_PROGRAM, message: "exit status 3; its last words:\nwhat a pity"},
		{name: "garbage", args: []string{"prefixed", "echo", "this is no framing"}, kind: wire.ErrorKind_ERROR_KIND_PROGRAM, message: "each record follows its length"},
		{name: "short record", args: []string{"prefixed", "printf", `\000\000\000\012abc`}, kind: wire.ErrorKind_ERROR_KIND_PROGRAM, message: "ends after 3 of the record's 10 bytes"},
		{name: "not installed", args: []string{"lines", "no-such-command"}, kind: wire.ErrorKind_ERROR_KIND_PROGRAM, message: "must be installed"},
		{name: "leaves children", args: []string{"lines", "sh", "-c", "sleep 1000 & setsid sleep 1000 & echo done"}, records: 1},
	}
	m := newManager(t)
	n := m.launch("a", nil)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			run, count := startCommand(n, c.args...)
			e := n.ended(run)
			if c.message == "" {
				if e.End != wire.End_END_FINISHED {
					t.Fatalf("%v", e)
				}
				if got := counters(n.finished(count)); got["records"] != c.records {
					t.Errorf("%d records come out", got["records"])
				}
				return
			}
			if e.Failure.GetKind() != c.kind || !strings.Contains(e.Failure.GetMessage(), c.message) || e.Failure.Stage != "run" {
				t.Errorf("%v", e)
			}
		})
	}
}

// startCommand runs a command between a program that writes lines and one that
// counts records, and returns the attempts of the command and of the counter.
func startCommand(n *node, args ...string) (run, count uint64) {
	b := n.m.job("command", args...)
	members := []member{{n, b.attempt(0, 0)}, {n, b.attempt(1, 0)}, {n, b.attempt(2, 0)}}
	meet(startBundle(members...), members...)
	return members[1].group.Attempt, members[2].group.Attempt
}

func TestSoftStopIsSIGTERMForCommands(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	id, count := startCommand(n, "lines", "sh", "-c", "trap 'echo told; exit 0' TERM; echo ready >&2; sleep 1000 & wait")
	n.logged(id, "ready")
	n.stop(id, time.Minute)
	n.finished(id)
	if e := n.finished(count); counters(e)["records"] != 1 {
		t.Errorf("%v", e)
	}
}

func TestCommandThatIgnoresSIGTERM(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	id, _ := startCommand(n, "lines", "sh", "-c", "trap '' TERM; echo pid $$ >&2; while :; do sleep 1; done")
	pid := n.pid(id, "pid")
	n.stop(id, 300*time.Millisecond)
	if e := n.ended(id); e.End != wire.End_END_STOPPED {
		t.Errorf("%v", e)
	}
	waitDead(t, pid)
}

func TestFilesTravelToTheCommand(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	p := &plan.Submission{Name: "script", Args: []string{"/home/somebody/script.sh"}, Files: []plan.LocalFile{
		{Path: "/home/somebody/script.sh", Executable: true, Data: []byte("#!/bin/sh\necho the script ran\n")},
	}}
	id := n.start(m.jobWith(p).attempt(0, 0))
	n.finished(id)
	if text := n.log(id); !strings.Contains(text, "the script ran") {
		t.Errorf("log %q", text)
	}
	p.Files = nil
	if e := n.ended(n.start(m.jobWith(p).attempt(0, 0))); e.Failure.GetKind() != wire.ErrorKind_ERROR_KIND_INVALID {
		t.Errorf("%v", e)
	}
}

// A command finds the devices of its attempt, also when its predecessor has only just ended. An
// attempt without has none, and no worker that had some.
func TestCommandsFindTheirDevices(t *testing.T) {
	n := newManager(t).launch("a", func(c *launcher.Config) {
		c.Resources = scheduler.NewResources(scheduler.ResourceCount{Kind: "gpu", Count: 2})
	})
	for _, c := range []struct {
		asks uint32
		has  string
	}{{2, "0,1"}, {2, "0,1"}, {1, "0"}, {0, ""}} {
		b := n.m.job("command", "lines", "sh", "-c", `test "$HAMADRYAD_RESOURCE_GPU" = "`+c.has+`"`)
		run := b.attempt(1, 0)
		if c.asks > 0 {
			run.Resources = []*wire.ResourceCount{{Kind: "gpu", Count: c.asks}}
		}
		members := []member{{n, b.attempt(0, 0)}, {n, run}, {n, b.attempt(2, 0)}}
		meet(startBundle(members...), members...)
		if e := n.ended(run.Attempt); e.End != wire.End_END_FINISHED {
			t.Fatalf("an attempt with %d: %v", c.asks, e)
		}
	}
}

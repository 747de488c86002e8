package faults

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// checkpointing stops the process that writes a checkpoint for the manager, and returns its id; 0:
// there is none.
func (c *cluster) checkpointing() int {
	found := processes(func(pid int) bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return err == nil && bytes.Contains(b, []byte("\x00checkpoint\x00")) && parent(pid) == c.manager.cmd.Process.Pid
	})
	if len(found) == 0 || syscall.Kill(found[0], syscall.SIGSTOP) != nil || dead(found[0]) {
		return 0
	}
	return found[0]
}

// The core never stands still: each checkpoint is made by another process, from the event
// log. One is killed in the middle of that, and one loses its manager. Nothing is lost,
// and no such process outlives its manager.
func TestKilledWhileACheckpointIsMade(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2, eventLog: ", freezeMax: 1ns"})
	const nodes = 6000
	out := c.path("sums")
	app := c.start("application", "many", "sums", fmt.Sprint(nodes), "2", out)
	pid := 0
	caught := func() bool {
		if app.ended() {
			t.Fatalf("the application ended early:\n%s", app.log)
		}
		pid = c.checkpointing()
		return pid != 0
	}
	eventually(t, "a checkpoint is being made", caught)
	kill(t, pid)
	eventually(t, "the manager tells", func() bool { return strings.Contains(c.manager.log.String(), "signal: killed") })
	c.manager.kill(t)
	c.startManager()
	eventually(t, "another checkpoint is being made", caught)
	c.manager.kill(t)
	eventually(t, "the process ends with its manager", func() bool { return dead(pid) })
	c.startManager()
	eventually(t, "the application ends", app.ended)
	want := fmt.Sprintf("%d %d\n", nodes, nodes*(nodes-1)/2)
	for _, part := range []string{"part-00000", "part-00001"} {
		if got, err := os.ReadFile(out + "/" + part); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q\n%s", part, got, err, want, app.log)
		}
	}
}

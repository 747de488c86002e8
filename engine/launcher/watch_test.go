package launcher

import (
	"os/exec"
	"testing"
	"time"
)

// The lease's watch needs nothing but the clock and kill: here there is no agent at
// all.
func TestLeaseWatchKillsByItself(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var l lease
	l.covers(&proc{cmd: cmd})
	go l.watch(t.Context())
	l.grant(50 * time.Millisecond)
	if err := cmd.Wait(); err == nil {
		t.Error("it ended by itself")
	}
	if !l.over() {
		t.Error("it was killed within the lease")
	}
}

package lease

import (
	"os/exec"
	"testing"
	"time"
)

// The lease's watch needs only the clock and kill.
func TestLeaseWatchKillsByItself(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l := New()
	l.Covers(cmd.Process)
	go l.Watch(t.Context())
	l.Grant(50 * time.Millisecond)
	if err := cmd.Wait(); err == nil {
		t.Error("it ended by itself")
	}
	if !l.Over() {
		t.Error("it was killed within the lease")
	}
}

// A lease that is renewed wakes the watch only when it could be over.
func TestLeaseWatchSleepsUntilTheEnd(t *testing.T) {
	l := New()
	if left := l.left(); left != noLease {
		t.Errorf("without a lease it looks after %v", left)
	}
	l.Grant(time.Minute)
	if left := l.left(); left < 50*time.Second || left > 61*time.Second {
		t.Errorf("with a lease of a minute it looks after %v", left)
	}
	l.Grant(time.Nanosecond)
	if left := l.left(); left != leaseLook {
		t.Errorf("when it is over it looks after %v", left)
	}
}

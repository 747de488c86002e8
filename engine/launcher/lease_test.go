package launcher_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/launcher"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// oneOf passes if one of several tries succeeds. A machine that pauses for a moment spoils some of
// them; a faulty launcher spoils all.
func oneOf(t *testing.T, try func() error) {
	t.Helper()
	const tries = 4
	var err error
	for range tries {
		if err = try(); err == nil {
			return
		}
		t.Log(err)
	}
	t.Error(err)
}

// A manager that is away for most of the lease finds all work, however long the launcher's backoff
// has grown.
func TestManagerAwayForMostOfTheLease(t *testing.T) {
	t.Parallel()
	oneOf(t, func() error {
		m := newManager(t)
		m.lease = 2 * leaseShort
		n := m.launch("a", nil)
		id := n.start(m.job("ticking").attempt(0, 0))
		n.logged(id, "tick 1")
		before := n.join.Incarnation
		m.server.Stop()
		back := time.Now().Add(m.lease * 7 / 10)
		waitFor(t, "most of the lease", func() bool { return time.Now().After(back) })
		l, err := net.Listen("tcp", m.addr)
		if err != nil {
			return err
		}
		m.serve(l)
		n.wait("second join", func() bool { return n.joins == 2 })
		if late := time.Since(back); late > m.lease/5 {
			return fmt.Errorf("it joined %v after the manager was back", late)
		}
		if n.join.Incarnation != before || len(n.join.Attempts) != 1 || n.join.Attempts[0].State != wire.AttemptInventory_STATE_RUNNING {
			return fmt.Errorf("it joined as %v, and was %d", n.join, before)
		}
		return nil
	})
}

// A launcher that hangs when its lease is nearly over does not prolong its workers' lease.
func TestWorkersEndWithTheLaunchersLease(t *testing.T) {
	t.Parallel()
	oneOf(t, func() error {
		m := newManager(t)
		m.lease = leaseShort * 4 / 3
		n, cmd := m.launchProcess(m.config("a"))
		id := n.start(m.job("hang").attempt(0, 0))
		pid := n.pid(id, "hangs")
		m.deaf.Store(true)
		deaf := time.Now()
		stuck := deaf.Add(m.lease * 6 / 10)
		waitFor(t, "most of the lease", func() bool { return time.Now().After(stuck) })
		if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		waitDead(t, pid)
		if late := time.Since(deaf); late > m.lease*13/10 {
			return fmt.Errorf("the worker ended %v after the last word, with a lease of %v", late, m.lease)
		}
		return nil
	})
}

// Writing the incarnation at the end of the lease needs no disk space: here the folder is gone
// altogether.
func TestIncarnationNeedsNoRoom(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	m.lease = leaseShort
	n := m.launch("a", nil)
	first := n.join.Incarnation
	note := filepath.Join(m.folders["a"], "incarnation")
	if err := os.Remove(note); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(note, 0o755); err != nil { // nothing can be written or moved there
		t.Fatal(err)
	}
	if err := os.Mkdir(note+".new", 0o755); err != nil {
		t.Fatal(err)
	}
	m.deaf.Store(true)
	n.wait("another incarnation", func() bool { return n.join.Incarnation > first })
	m.deaf.Store(false)
}

func TestIncarnationsGrowThoughTheClockWasAhead(t *testing.T) {
	m := newManager(t)
	cfg := m.config("a")
	ahead := uint64(time.Now().Add(10 * 365 * 24 * time.Hour).UnixNano())
	note := filepath.Join(cfg.Data, "incarnation")
	if err := os.WriteFile(note, fmt.Append(nil, ahead), 0o644); err != nil {
		t.Fatal(err)
	}
	identity := ""
	for range 3 {
		n, cmd := m.launchProcess(cfg)
		if n.join.Incarnation <= ahead || identity != "" && n.join.Identity != identity {
			t.Fatalf("incarnation %d of %q after %d of %q", n.join.Incarnation, n.join.Identity, ahead, identity)
		}
		ahead, identity = n.join.Incarnation, n.join.Identity
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	// An identity whose incarnation can't grow any more is replaced by a new one.
	if err := os.WriteFile(note, fmt.Append(nil, uint64(math.MaxUint64)), 0o644); err != nil {
		t.Fatal(err)
	}
	n, _ := m.launchProcess(cfg)
	if n.join.Incarnation >= math.MaxInt64 || n.join.Identity == identity || n.join.Identity == "" {
		t.Errorf("incarnation %d of %q", n.join.Incarnation, n.join.Identity)
	}
}

// A launcher that the manager gave up begins a new incarnation at once, before its lease ends.
func TestGivenUpStartsAfresh(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	first := n.join.Incarnation
	_, pids := startFamily(n, m.job("family"))
	m.afresh.Store(true)
	n.cut()
	n.wait("another incarnation", func() bool { return n.join.Incarnation > first && len(n.join.Attempts) == 0 })
	waitDead(t, pids...)
}

// A launcher that is stopped ends its workers and then reports that it leaves. A launcher whose
// lease ran out reports that when it joins again.
func TestALauncherThatIsStoppedLeaves(t *testing.T) {
	m := newManager(t)
	m.lease = leaseShort
	cfg := m.config("a")
	m.folders["a"] = cfg.Data
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- launcher.Run(ctx, cfg) }()
	n := m.node("a")
	n.wait("join", func() bool { return n.joins > 0 })
	if n.join.After != "" {
		t.Errorf("its first incarnation comes after %q", n.join.After)
	}
	m.deaf.Store(true)
	n.wait("join after the lease", func() bool { return n.joins > 1 && n.join.After != "" })
	m.deaf.Store(false)
	n.wait("heartbeat of the second incarnation", func() bool { return n.beats > 0 })
	if !strings.Contains(n.join.After, "lease") {
		t.Errorf("it came again after %q", n.join.After)
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	n.wait("leave", func() bool { return len(n.left) == 1 })
	if x := n.left[0]; x.Identity != n.join.Identity || x.Incarnation < n.join.Incarnation {
		t.Errorf("%v left, and %v had joined", x, n.join)
	}
}

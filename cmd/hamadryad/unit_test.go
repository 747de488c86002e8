package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/cmd/internal/processes"
)

// notified is the systemd socket to which units report their state.
type notified struct {
	t    *testing.T
	path string
	conn *net.UnixConn
}

func newNotified(t *testing.T) *notified {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &notified{t, path, conn}
}

// next is the next message.
func (n *notified) next() string {
	n.t.Helper()
	b := make([]byte, 4096)
	if err := n.conn.SetReadDeadline(time.Now().Add(waitMax)); err != nil {
		n.t.Fatal(err)
	}
	size, err := n.conn.Read(b)
	if err != nil {
		n.t.Fatal("systemd hears nothing more:", err)
	}
	return string(b[:size])
}

// hears waits for a message that begins with a text, and returns it with all before it.
func (n *notified) hears(begin string) (all []string) {
	n.t.Helper()
	for {
		all = append(all, n.next())
		if strings.HasPrefix(all[len(all)-1], begin) {
			return all
		}
	}
}

// start starts a command as systemd starts a unit, with a watchdog.
func (n *notified) start(args ...string) *processes.Process {
	n.t.Helper()
	cmd := exec.Command(filepath.Join(binaries, "hamadryad"), args...)
	cmd.Dir = n.t.TempDir()
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+n.path, "WATCHDOG_USEC=300000")
	p, err := processes.Start(args[1], cmd)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		if err := p.Stop(syscall.SIGKILL, waitMax); err != nil {
			n.t.Error(err)
		}
		if n.t.Failed() {
			n.t.Logf("%s said\n%s", p.Name, p.Log)
		}
	})
	return p
}

// A manager and a launcher tell systemd that they are ready, that they live, and that they stop. A launcher is
// ready before it has joined: that its manager is away is no reason to start it again.
func TestUnitsTellSystemd(t *testing.T) {
	atManager, atLauncher := newNotified(t), newNotified(t)
	manager := atManager.start("serve", "manager", "--data", "data", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
	atManager.hears("READY=1")
	eventually(t, "the manager serves", func() bool { return serves.MatchString(manager.Log.String()) })
	launcher := atLauncher.start("serve", "launcher", "--data", "data", "--manager", serves.FindStringSubmatch(manager.Log.String())[1])
	if first := atLauncher.next(); first != "READY=1" {
		t.Errorf("the launcher's first word is %q", first)
	}
	atLauncher.hears("STATUS=joined the manager at ")
	for _, at := range []struct {
		*notified
		*processes.Process
	}{{atLauncher, launcher}, {atManager, manager}} {
		for range 3 {
			at.hears("WATCHDOG=1")
		}
		if err := at.Stop(syscall.SIGTERM, waitMax); err != nil {
			t.Fatal(err)
		}
		if last := at.hears("STOPPING=1"); !strings.Contains(last[len(last)-1], "\nWATCHDOG_USEC=180000000") {
			t.Errorf("while %s stops its watchdog is not put off: %q", at.Name, last)
		}
	}
}

// A process with a problem sends systemd no watchdog message until the problem is over.
func TestTheWatchdogHearsNothingWhileSomethingIsWrong(t *testing.T) {
	at := newNotified(t)
	t.Setenv("NOTIFY_SOCKET", at.path)
	u := newUnit(slog.New(slog.DiscardHandler))
	u.watchdog = 30 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	var asked atomic.Int32
	over := make(chan struct{})
	go func() {
		defer close(over)
		u.serve(ctx, func(context.Context) error {
			if asked.Add(1) <= 3 {
				return errors.New("the core does not answer")
			}
			return nil
		})
	}()
	if first, second := at.next(), at.next(); first != "READY=1" || second != "WATCHDOG=1" || asked.Load() < 4 {
		t.Errorf("systemd hears %q and %q after %d looks", first, second, asked.Load())
	}
	stop()
	at.hears("STOPPING=1")
	<-over
}

// A part of a local cluster sends nothing to systemd: the variables belong to the process that
// started the cluster.
func TestPartsOfALocalClusterAreNoUnits(t *testing.T) {
	at := newNotified(t)
	dir := t.TempDir()
	cmd := exec.Command(filepath.Join(binaries, "hamadryad"), "local", "--data", filepath.Join(dir, "cluster"), "--", "true")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "NOTIFY_SOCKET="+at.path, "WATCHDOG_USEC=300000")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := at.conn.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	if size, err := at.conn.Read(b); err == nil {
		t.Errorf("systemd hears %q", b[:size])
	}
}

// A process ends though nobody reads its messages, and the system takes no more of them.
func TestNobodyReadsTheMessages(t *testing.T) {
	at := newNotified(t)
	t.Setenv("NOTIFY_SOCKET", at.path)
	fills, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: at.path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer fills.Close()
	for err == nil {
		if err := fills.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		_, err = fills.Write([]byte("WATCHDOG=1"))
	}
	u := newUnit(slog.New(slog.DiscardHandler))
	u.watchdog = time.Hour
	ctx, stop := context.WithCancel(t.Context())
	stop()
	u.serve(ctx, func(context.Context) error { return nil })
}

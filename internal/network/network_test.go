package network

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// patience is how long a word may take on a link that works.
const patience = 10 * time.Second

// silence is how long nothing must come for a link to count as cut.
const silence = 300 * time.Millisecond

// pair joins machines a and b by one connection and returns its ends.
func pair(t *testing.T, n *Network) (a, b *net.TCPConn) {
	t.Helper()
	var listener net.Listener
	dial := func() (err error) {
		c, err := net.Dial("tcp", listener.Addr().String())
		if err == nil {
			a = c.(*net.TCPConn)
		}
		return err
	}
	err := n.Inside("b", func() (err error) {
		listener, err = net.Listen("tcp", n.Address("b")+":0")
		return err
	})
	if err == nil {
		err = n.Inside("a", dial)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); c.Close() })
	return a, c.(*net.TCPConn)
}

// arrives sends a word and reports whether it arrives within a time.
func arrives(t *testing.T, from, to net.Conn, within time.Duration) bool {
	t.Helper()
	if _, err := from.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	_ = to.SetReadDeadline(time.Now().Add(within))
	_, err := io.ReadFull(to, make([]byte, 1))
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	return err == nil
}

// Each kind of cut is silent, cuts just what it says, and is mended.
func TestCuts(t *testing.T) {
	n, err := New("a", "b", "c")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	for _, cut := range []struct {
		name   string
		do     func() error
		ab, ba bool // whether words come through
	}{
		{"both ways", func() error { return n.Cut("a") }, false, false},
		{"to", func() error { return n.Deafen("a") }, true, false},
		{"from", func() error { return n.Mute("a", "b") }, false, true},
		{"from to another", func() error { return n.Mute("a", "c") }, true, true},
	} {
		t.Run(cut.name, func(t *testing.T) {
			for _, way := range []struct {
				name    string
				forth   bool
				through bool
			}{{"a to b", true, cut.ab}, {"b to a", false, cut.ba}} {
				from, to := pair(t, n)
				a, b := from, to
				if !way.forth {
					from, to = to, from
				}
				if !arrives(t, a, b, patience) || !arrives(t, b, a, patience) {
					t.Fatal("nothing comes through a link that works")
				}
				if err := cut.do(); err != nil {
					t.Fatal(err)
				}
				within := silence
				if way.through {
					within = patience
				}
				if got := arrives(t, from, to, within); got != way.through {
					t.Errorf("%s: a word comes through: %v, want %v", way.name, got, way.through)
				}
				if err := n.Mend("a"); err != nil {
					t.Fatal(err)
				}
				if !way.through { // the delayed word arrives now
					_ = to.SetReadDeadline(time.Now().Add(patience))
					if _, err := io.ReadFull(to, make([]byte, 1)); err != nil {
						t.Errorf("%s, mended: %v", way.name, err)
					}
				}
			}
		})
	}
}

// Reset is heard on both sides; a slow link is slow, and works.
func TestResetAndSlow(t *testing.T) {
	n, err := New("a", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	a, b := pair(t, n)
	if err := n.Slow("a"); err != nil {
		t.Fatal(err)
	}
	if !arrives(t, a, b, patience) {
		t.Error("nothing comes through a slow link")
	}
	if err := errors.Join(n.Hasten("a"), n.Reset("a")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{a, b} {
		_ = c.SetReadDeadline(time.Now().Add(patience))
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a connection that was reset goes on: %v", err)
		}
	}
}

package nonblock_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/internal/nonblock"
)

// pair returns both ends of a TCP connection.
func pair(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ours, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ours = nonblock.Conn(ours)
	theirs, err = nonblock.Listener(l).Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ours.Close()
		theirs.Close()
	})
	return ours, theirs
}

// Bytes arrive as they were written, in both directions at once, whatever the sizes of reads and
// writes, and more of them than the system keeps.
func TestBytesArriveAsWritten(t *testing.T) {
	a, b := pair(t)
	sent := make([]byte, 16<<20)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(sent)
	done := make(chan error, 4)
	for i, end := range []net.Conn{a, b} {
		sizes := rand.New(rand.NewPCG(uint64(i), 7))
		go func() {
			for rest := sent; len(rest) > 0; {
				n := min(1+sizes.IntN(300_000), len(rest))
				if wrote, err := end.Write(rest[:n]); err != nil || wrote != n {
					done <- errors.Join(err, io.ErrShortWrite)
					return
				}
				rest = rest[n:]
			}
			done <- end.(interface{ NetConn() net.Conn }).NetConn().(*net.TCPConn).CloseWrite()
		}()
		go func() {
			got, err := io.ReadAll(end)
			if err == nil && !bytes.Equal(got, sent) {
				err = errors.New("other bytes arrived")
			}
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Several goroutines may write at once: each write is whole.
func TestWritesAreWhole(t *testing.T) {
	a, b := pair(t)
	const writers, writes, size = 4, 200, 3000
	for i := range byte(writers) {
		go func() {
			for range writes {
				_, _ = a.Write(bytes.Repeat([]byte{i}, size)) // the reader finds what is missing
			}
		}()
	}
	one := make([]byte, size)
	for range writers * writes {
		if _, err := io.ReadFull(b, one); err != nil || bytes.Count(one, one[:1]) != size {
			t.Fatalf("a write is mixed with another, or lost: %v", err)
		}
	}
}

// Deadlines, the end of the other side and the close of this one are the errors of package net.
func TestErrorsAreThoseOfNet(t *testing.T) {
	a, b := pair(t)
	if err := a.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || !strings.HasPrefix(err.Error(), "read tcp ") {
		t.Errorf("after the deadline: %v", err)
	}
	if err := a.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	read := make(chan error)
	go func() {
		_, err := b.Read(make([]byte, 1))
		read <- err
	}()
	b.Close()
	if err := <-read; !errors.Is(err, net.ErrClosed) {
		t.Errorf("of a read when the connection closes: %v", err)
	}
	if _, err := a.Read(make([]byte, 1)); err != io.EOF { //nolint:errorlint // as readers compare it
		t.Errorf("at the end: %v", err)
	}
	var err error
	for err == nil {
		_, err = a.Write(make([]byte, 1<<10))
	}
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("of a write to nobody: %v", err)
	}
}

// Connections that are no sockets, and files that block, are left to the scheduler.
func TestWhatBlocksIsLeftAlone(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if nonblock.Conn(a) != a {
		t.Error("a pipe in memory is taken for a socket")
	}
	f, err := os.Open("nonblock_test.go")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if nonblock.Of(f) != nil {
		t.Error("a file that blocks is taken")
	}
}

// The calls say what the ordinary ones of package unix say.
func TestCalls(t *testing.T) {
	f, err := os.Open("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	first := make([]byte, 4)
	for range 2 { // from the start each time
		if n, err := nonblock.ReadStart(f.Fd(), first); err != nil || n != 4 || first[0] < '1' || first[0] > '9' {
			t.Errorf("the file starts with %q: %v", first[:n], err)
		}
	}
	if nonblock.HasChildren() {
		t.Error("a child that nobody started")
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if !nonblock.HasChildren() {
		t.Error("a child is not seen")
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	var before unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &before); err != nil || nonblock.Monotonic() < before.Nano() {
		t.Errorf("the clock went back: %v", err)
	}
}

// A pipe that is empty says so at once.
func TestReadOfAnEmptyPipe(t *testing.T) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ends[0])
	if _, err := nonblock.Read(uintptr(ends[0]), make([]byte, 1)); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("of an empty one: %v", err)
	}
	if _, err := unix.Write(ends[1], []byte("ab")); err != nil {
		t.Fatal(err)
	}
	unix.Close(ends[1])
	p := make([]byte, 3)
	if n, err := nonblock.Read(uintptr(ends[0]), p); err != nil || string(p[:n]) != "ab" {
		t.Errorf("%q: %v", p[:n], err)
	}
	if n, err := nonblock.Read(uintptr(ends[0]), p); err != nil || n != 0 {
		t.Errorf("at the end: %d, %v", n, err)
	}
}

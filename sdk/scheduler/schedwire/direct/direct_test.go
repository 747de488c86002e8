package direct

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inTime bounds every wait.
const inTime = time.Minute

// pair makes both ends.
func pair(t *testing.T) (near, far *Conn) {
	t.Helper()
	near, file, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	if far, err = newConn(file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(near.Close)
	t.Cleanup(far.Close)
	if err := near.SetDeadline(time.Now().Add(inTime)); err != nil {
		t.Fatal(err)
	}
	return near, far
}

// Rounds of all sizes are answered in order, an error of the policy leaves the socket usable, and
// the plug-in's end returns when the manager closes its own.
func TestRoundsAreAnswered(t *testing.T) {
	near, far := pair(t)
	done := make(chan error, 1)
	go func() {
		done <- far.Serve(4<<20, func(round []byte) ([]byte, *Fault) {
			if len(round) == 1 {
				return nil, &Fault{10, strings.Repeat("x", 2*ErrorBytesMax)}
			}
			return append([]byte("re: "), round...), nil
		})
	}()
	for _, n := range []int{0, 2, 1, readBytes - 4, readBytes, keptBytes + 1, 4 << 20, 3} {
		round := bytes.Repeat([]byte{byte(n)}, n)
		answer, err := near.Ask(round, 8<<20)
		if n == 1 {
			var fault *Fault
			if !errors.As(err, &fault) || fault.Code != 10 || len(fault.Text) != ErrorBytesMax {
				t.Fatalf("error %.50v; want code 10 with %d bytes", err, ErrorBytesMax)
			}
			continue
		}
		if err != nil || string(answer) != "re: "+string(round) {
			t.Fatalf("a round of %d bytes: an answer of %d bytes, error %v", n, len(answer), err)
		}
	}
	near.Close()
	if err := <-done; err != nil {
		t.Errorf("the plug-in's end returned %v", err)
	}
}

// What is longer than allowed is refused before it is read.
func TestLengthsAreBounded(t *testing.T) {
	answer := func(round []byte) ([]byte, *Fault) { return round, nil }
	near, far := pair(t)
	go func() { _ = far.Serve(100, answer) }()
	if _, err := near.Ask(make([]byte, 100), 99); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an answer of 100 bytes where 99 are allowed: error %v", err)
	}
	near, far = pair(t)
	done := make(chan error, 1)
	go func() {
		done <- far.Serve(100, answer)
		far.Close()
	}()
	if _, err := near.Ask(make([]byte, 101), 1000); err == nil {
		t.Error("a round of 101 bytes was answered")
	}
	if err := <-done; !errors.Is(err, ErrMalformed) {
		t.Errorf("a round of 101 bytes where 100 are allowed: error %v", err)
	}
}

// A plug-in that says nothing takes no rounds, and one with other words neither.
func TestGreeting(t *testing.T) {
	for said, takes := range map[string]bool{Greeting: true, "": false, "policy rounds 2\n": false, Greeting[:5]: false} {
		near, far := pair(t)
		if _, err := io.WriteString(far.socket, said); err != nil {
			t.Fatal(err)
		}
		if near.Greeted() != takes {
			t.Errorf("after %q it takes rounds: %t, want %t", said, !takes, takes)
		}
	}
}

// A wait ends when it is interrupted, and when the other end closes.
func TestWaitsEnd(t *testing.T) {
	near, far := pair(t)
	ended := make(chan error, 1)
	go func() {
		_, err := near.Ask([]byte("round"), 100)
		ended <- err
	}()
	if _, err := io.ReadFull(far.in, make([]byte, 9)); err != nil { // it waits now, or will
		t.Fatal(err)
	}
	near.Interrupt()
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("interrupted: error %v", err)
	}
	near, far = pair(t)
	far.Close()
	if _, err := near.Ask([]byte("round"), 100); err == nil {
		t.Error("a round was answered by nobody")
	}
}

// A plug-in's end that waits for a round returns when it is closed, and when the manager's end is.
func TestInheritedEndWaits(t *testing.T) {
	for name, end := range map[string]func(near, far *Conn){
		"closed by itself":  func(_, far *Conn) { far.Close() },
		"closed by manager": func(near, _ *Conn) { near.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			near, file, err := Pair()
			if err != nil {
				t.Fatal(err)
			}
			defer near.Close()
			number, err := syscall.Dup(int(file.Fd()))
			file.Close()
			if err != nil {
				t.Fatal(err)
			}
			far, err := inherit(number)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- far.Serve(100, func(round []byte) ([]byte, *Fault) { return round, nil }) }()
			if err := near.SetDeadline(time.Now().Add(inTime)); err != nil {
				t.Fatal(err)
			}
			if _, err := near.Ask([]byte("round"), 100); err != nil { // it waits for the next one
				t.Fatal(err)
			}
			end(near, far)
			select {
			case err := <-done:
				if name == "closed by manager" && err != nil {
					t.Errorf("error %v", err)
				}
			case <-time.After(inTime):
				t.Error("it waits still")
			}
		})
	}
}

// A number that is no socket's any more is refused: a wrapper may have closed it.
func TestInheritedNumber(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, number := range []int{int(file.Fd()), 1 << 20} {
		if _, err := inherit(number); err == nil {
			t.Errorf("file %d was taken for a socket", number)
		}
	}
}

// Package ipc is the socket pair between a launcher and one of its workers. Each frame has four
// bytes of length, little-endian, and the message.
package ipc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/internal/nonblock"
)

// FrameMax is the largest frame: 256 MiB. A publish of two million files or an
// input of four million stored outputs fits.
const FrameMax = 256 << 20

// HeadBytes is how much of a message is passed to the function that bounds its size.
const HeadBytes = 16

// TooLargeError is the error of a frame that exceeds its bound. The frame was not read.
type TooLargeError struct {
	Head []byte // its first bytes, at most HeadBytes
	Size int
	Max  int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%v: a frame of %d bytes, at most %d", ErrGarbled, e.Size, e.Max)
}

// Unwrap makes the error match ErrGarbled.
func (e *TooLargeError) Unwrap() error { return ErrGarbled }

// keepMax is the largest buffer that a Conn keeps between messages.
const keepMax = 1 << 20

// WorkerFD is the file descriptor of a worker's end.
const WorkerFD = 3

// ErrGarbled is matched by errors about bytes that are no frame: the stream can't be read further.
var ErrGarbled = errors.New("garbled message on the socket pair")

// ErrUnfit is matched by errors about a message that can't be sent: it is too large, or contains
// text that is not UTF-8.
var ErrUnfit = errors.New("a message can't be sent as it is")

// Conn is one end. Send, TrySend and Flush may be called by any goroutine, Recv by one at a time.
type Conn struct {
	f *os.File
	s *nonblock.Socket // nil: f blocks
	r *bufio.Reader

	in []byte // Recv's buffer

	mu   sync.Mutex
	out  []byte // the buffer of messages to write
	rest []byte // of out: what TrySend did not write
}

// New makes a Conn over an open socket.
func New(f *os.File) *Conn {
	if s := nonblock.Of(f); s != nil {
		return &Conn{f: f, s: s, r: bufio.NewReaderSize(s, 32<<10)}
	}
	return &Conn{f: f, r: bufio.NewReaderSize(f, 32<<10)}
}

// Pair makes a socket pair: the launcher's end, and the file to hand to a worker.
// The caller closes the file once the worker has started.
func Pair() (*Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socket pair for a worker: %w", err)
	}
	// Set it on the launcher's end only: the flag belongs to the socket, and the worker sets its
	// own.
	if err := unix.SetNonblock(fds[0], true); err != nil {
		_ = unix.Close(fds[0])
		_ = unix.Close(fds[1])
		return nil, nil, fmt.Errorf("socket pair for a worker: %w", err)
	}
	return New(os.NewFile(uintptr(fds[0]), "worker")), os.NewFile(uintptr(fds[1]), "launcher"), nil
}

// Inherited returns the worker's end. The worker's child processes do not inherit it.
func Inherited() (*Conn, error) {
	unix.CloseOnExec(WorkerFD)
	if err := unix.SetNonblock(WorkerFD, true); err != nil {
		return nil, fmt.Errorf("file descriptor %d is not a launcher's socket: %w; a worker is started by a launcher, not by hand", WorkerFD, err)
	}
	return New(os.NewFile(WorkerFD, "launcher")), nil
}

// Send writes messages in one write, after what TrySend left. After ErrUnfit none of them was sent,
// and later messages can be.
func (c *Conn) Send(messages ...proto.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.flush(); err != nil {
		return err
	}
	if err := c.frame(messages); err != nil {
		return err
	}
	return c.flush()
}

// TrySend is Send that does not wait until the other end reads. It reports whether everything was
// written. If not, Flush writes the rest, and the message counts as sent. It is called only when no
// rest is left.
func (c *Conn) TrySend(message proto.Message) (all bool, err error) {
	if c.s == nil {
		return true, c.Send(message)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.frame([]proto.Message{message}); err != nil {
		return false, err
	}
	n, err := c.s.WriteNow(c.rest)
	c.rest = c.rest[n:]
	return len(c.rest) == 0, err
}

// Flush writes what TrySend left.
func (c *Conn) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flush()
}

// frame makes the frames of messages the rest to write. The caller holds mu, and no rest is left.
func (c *Conn) frame(messages []proto.Message) error {
	buf := c.out[:0]
	for _, m := range messages {
		start := len(buf)
		buf = append(buf, 0, 0, 0, 0)
		var err error
		if buf, err = (proto.MarshalOptions{}).MarshalAppend(buf, m); err != nil {
			return fmt.Errorf("%w: %w", ErrUnfit, err)
		}
		size := len(buf) - start - 4
		if size > FrameMax {
			return fmt.Errorf("%w: it has %d bytes, at most %d", ErrUnfit, size, FrameMax)
		}
		binary.LittleEndian.PutUint32(buf[start:], uint32(size))
	}
	if cap(buf) <= keepMax {
		c.out = buf
	}
	c.rest = buf
	return nil
}

// flush writes the rest. The caller holds mu.
func (c *Conn) flush() error {
	if len(c.rest) == 0 {
		return nil
	}
	write := c.f.Write
	if c.s != nil {
		write = c.s.Write
	}
	_, err := write(c.rest)
	c.rest = nil
	return err
}

// Recv reads the next message into m, without unknown fields. The error is io.EOF when the other
// end closed between two messages.
func (c *Conn) Recv(m proto.Message) error {
	buf, err := c.Frame(func([]byte) int { return FrameMax })
	if err != nil {
		return err
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(buf, m); err != nil {
		return fmt.Errorf("%w: %w", ErrGarbled, err)
	}
	return nil
}

// Frame reads the bytes of the next message, which are valid until the next call. most returns the
// bound of its size from its first bytes, before the rest is read.
func (c *Conn) Frame(most func(head []byte) int) ([]byte, error) {
	var start [4]byte
	if _, err := io.ReadFull(c.r, start[:]); err != nil {
		return nil, err
	}
	size := int(binary.LittleEndian.Uint32(start[:]))
	if size > FrameMax {
		return nil, &TooLargeError{Size: size, Max: FrameMax}
	}
	head, err := c.r.Peek(min(size, HeadBytes))
	if err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	if m := most(head); size > m {
		return nil, &TooLargeError{Head: bytes.Clone(head), Size: size, Max: m}
	}
	return c.read(size)
}

// read reads size bytes, and allocates no more memory than arrives, because the length may be
// garbage.
func (c *Conn) read(size int) ([]byte, error) {
	buf := c.in[:0]
	for len(buf) < size {
		step := min(size-len(buf), max(keepMax, len(buf)))
		start := len(buf)
		buf = append(buf, make([]byte, step)...)
		if _, err := io.ReadFull(c.r, buf[start:]); err != nil {
			return nil, io.ErrUnexpectedEOF
		}
	}
	if cap(buf) <= keepMax {
		c.in = buf
	}
	return buf, nil
}

// Ready reports whether a message, or a part of one, is in the buffer. For the goroutine that calls
// Recv.
func (c *Conn) Ready() bool { return c.r.Buffered() > 0 }

// Close closes this end.
func (c *Conn) Close() error { return c.f.Close() }

// Now is the machine's monotonic clock, the same for all its processes, in nanoseconds. Launcher
// and worker exchange the end of the lease by it.
func Now() int64 { return nonblock.Monotonic() }

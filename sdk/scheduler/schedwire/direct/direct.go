package direct

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

const (
	// Key is the environment variable with the number of the inherited socket.
	Key = "HAMADRYAD_POLICY_SOCKET"
	// Greeting is what a plug-in that takes rounds on the socket writes first.
	Greeting = "policy rounds 1\n"
	// ErrorBytesMax bounds the text of an error, in bytes.
	ErrorBytesMax = 64 << 10
	// keptBytes is the largest buffer that is kept from one message to the next.
	keptBytes = 1 << 20
	// readBytes is the size of read buffers: most messages come in one read.
	readBytes = 64 << 10
	// wordBytes is the size of a length, and of a code.
	wordBytes = 4
)

var (
	// ErrTooLarge is the error of Ask for an answer that is longer than allowed.
	ErrTooLarge = errors.New("the answer is too large")
	// ErrMalformed is the error of a message that violates the format.
	ErrMalformed = errors.New("a message on the socket of rounds is longer than allowed")
)

// Fault is an answer with a code other than 0.
type Fault struct {
	Code uint32 // of gRPC
	Text string
}

// Error returns the text.
func (f *Fault) Error() string { return f.Text }

// Conn is one end of the pair. Its methods other than Close and Interrupt are for one goroutine at a
// time.
type Conn struct {
	socket socket
	in     *bufio.Reader
	buffer []byte
}

// socket is the manager's connection (net.Conn), or the plug-in's file, whose reads block a thread.
type socket interface {
	io.ReadWriteCloser
	syscall.Conn
	SetDeadline(t time.Time) error
}

// newConn takes over a connected socket.
func newConn(f *os.File) (*Conn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	s, ok := c.(socket)
	if !ok {
		c.Close()
		return nil, os.ErrInvalid
	}
	return connOf(s), nil
}

func connOf(s socket) *Conn { return &Conn{socket: s, in: bufio.NewReaderSize(s, readBytes)} }

// Inherited returns the plug-in's end, nil if the manager gave none, and greets the manager. It must
// be called before the plug-in prints its handshake. Its reads block a thread, so that a round wakes
// that thread and nothing else; Ask and SetDeadline are not for this end.
func Inherited() (*Conn, error) {
	number, err := strconv.Atoi(os.Getenv(Key))
	if err != nil {
		return nil, nil // there is none
	}
	if err := os.Unsetenv(Key); err != nil { // it is not for child processes
		return nil, err
	}
	c, err := inherit(number)
	if err != nil {
		return nil, fmt.Errorf("the inherited socket %d: %w", number, err)
	}
	if _, err := c.socket.Write([]byte(Greeting)); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the connection, and calls under way.
func (c *Conn) Close() { _ = c.socket.Close() }

// Interrupt ends an Ask that is under way, as if its deadline had passed.
func (c *Conn) Interrupt() { _ = c.socket.SetDeadline(time.Unix(1, 0)) }

// SetDeadline is until when the next Ask must end.
func (c *Conn) SetDeadline(t time.Time) error { return c.socket.SetDeadline(t) }

// Ask sends a round, and returns the answer to it, of at most so many bytes. An error other than a
// *Fault leaves the connection in no usable state.
func (c *Conn) Ask(round []byte, answerBytesMax int) ([]byte, error) {
	b := binary.LittleEndian.AppendUint32(c.emptyBuffer(wordBytes+len(round)), uint32(len(round)))
	if _, err := c.socket.Write(append(b, round...)); err != nil {
		return nil, err
	}
	var head [2 * wordBytes]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return nil, err
	}
	code, n := binary.LittleEndian.Uint32(head[:]), int64(binary.LittleEndian.Uint32(head[wordBytes:]))
	switch {
	case code == 0 && n > int64(answerBytesMax):
		return nil, ErrTooLarge
	case code != 0 && n > ErrorBytesMax:
		return nil, ErrMalformed
	}
	answer := make([]byte, n)
	if _, err := io.ReadFull(c.in, answer); err != nil {
		return nil, err
	}
	if code != 0 {
		return nil, &Fault{code, string(answer)}
	}
	return answer, nil
}

// emptyBuffer returns an empty buffer with room for so many bytes.
func (c *Conn) emptyBuffer(n int) []byte {
	if n > keptBytes {
		return make([]byte, 0, n)
	}
	if cap(c.buffer) < n {
		c.buffer = make([]byte, 0, max(n, readBytes))
	}
	return c.buffer[:0]
}

// Serve answers rounds of at most so many bytes until the manager closes the connection. handle must
// not keep the round.
func (c *Conn) Serve(roundBytesMax int, handle func(round []byte) (answer []byte, fault *Fault)) error {
	for {
		var head [wordBytes]byte
		if _, err := io.ReadFull(c.in, head[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		n := int64(binary.LittleEndian.Uint32(head[:]))
		if n > int64(roundBytesMax) {
			return ErrMalformed
		}
		round := c.emptyBuffer(int(n))[:n]
		if _, err := io.ReadFull(c.in, round); err != nil {
			return err
		}
		answer, fault := handle(round)
		code := uint32(0)
		if fault != nil {
			code, answer = fault.Code, []byte(fault.Text[:min(len(fault.Text), ErrorBytesMax)])
		}
		b := binary.LittleEndian.AppendUint32(c.emptyBuffer(2*wordBytes+len(answer)), code)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(answer)))
		if _, err := c.socket.Write(append(b, answer...)); err != nil {
			return err
		}
	}
}

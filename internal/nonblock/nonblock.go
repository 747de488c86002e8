// Package nonblock reads and writes sockets that do not block. It does not tell Go's scheduler of its
// calls.
//
// After all goroutines of a process waited, the first system call wakes a thread that watches for
// long calls (sysmon). That thread then runs each 20 µs. A process with many small messages pays
// more for that thread than for its calls. The calls of this package only copy bytes between memory
// and a socket, and never wait: there is nothing to watch. A call on a file or folder may wait for a
// disk or a network, so there is none here.
package nonblock

import (
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Socket reads and writes one socket. One goroutine reads at a time, and one writes.
type Socket struct {
	raw     syscall.RawConn
	in, out transfer
}

// Of returns nil for what is no socket of the system, and for a file that blocks: the scheduler has
// to know of a call that waits.
func Of(f any) *Socket {
	c, ok := f.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	nonblocking := false
	err = raw.Control(func(fd uintptr) {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		nonblocking = err == nil && flags&unix.O_NONBLOCK != 0
	})
	if err != nil || !nonblocking {
		return nil
	}
	s := &Socket{raw: raw, in: transfer{call: unix.SYS_READ}, out: transfer{call: unix.SYS_WRITE}}
	s.in.retry, s.out.retry, s.out.attempt = s.in.ready, s.out.ready, s.out.now
	return s
}

// transfer is the state of a read or of a write. Its functions are made once, so that a call
// allocates nothing.
type transfer struct {
	call    uintptr // number of the system call
	buf     []byte
	n       int
	errno   syscall.Errno
	retry   func(fd uintptr) bool // ready
	attempt func(fd uintptr) bool // now
}

// ready makes the system call. It is false when the socket has to become ready first.
func (t *transfer) ready(fd uintptr) bool {
	t.now(fd)
	return t.errno != unix.EAGAIN
}

// now makes the system call, and is always true: nothing is waited for.
func (t *transfer) now(fd uintptr) bool {
	for {
		n, _, errno := unix.RawSyscall(t.call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(t.buf))), uintptr(len(t.buf)))
		if errno == unix.EINTR {
			continue
		}
		t.n, t.errno = int(n), errno
		return true
	}
}

// Read implements io.Reader.
func (s *Socket) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	t := &s.in
	t.buf = p
	err := s.raw.Read(t.retry)
	t.buf = nil
	switch {
	case err != nil:
		return 0, err
	case t.errno != 0:
		return 0, os.NewSyscallError("read", t.errno)
	case t.n == 0:
		return 0, io.EOF
	}
	return t.n, nil
}

// Write implements io.Writer.
func (s *Socket) Write(p []byte) (int, error) {
	return s.write(p, s.out.retry)
}

// WriteNow writes what the socket takes without a wait.
func (s *Socket) WriteNow(p []byte) (int, error) {
	return s.write(p, s.out.attempt)
}

func (s *Socket) write(p []byte, how func(fd uintptr) bool) (int, error) {
	t := &s.out
	defer func() { t.buf = nil }()
	done := 0
	for done < len(p) {
		t.buf = p[done:]
		if err := s.raw.Write(how); err != nil {
			return done, err
		}
		switch t.errno {
		case 0:
			done += t.n
		case unix.EAGAIN:
			return done, nil // only WriteNow gets here
		default:
			return done, os.NewSyscallError("write", t.errno)
		}
	}
	return done, nil
}

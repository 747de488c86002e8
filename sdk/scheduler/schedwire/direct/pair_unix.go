//go:build unix

package direct

import (
	"os"
	"syscall"
)

// Pair makes the connected sockets: the manager's end, and the one that the plug-in inherits. The
// caller closes both.
func Pair() (near *Conn, far *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	far = os.NewFile(uintptr(fds[1]), "rounds")
	if near, err = newConn(os.NewFile(uintptr(fds[0]), "rounds")); err != nil {
		far.Close()
		return nil, nil, err
	}
	return near, far, nil
}

// Greeted reports whether the plug-in takes rounds. The manager calls it once, after the handshake:
// a greeting is there by then, so this does not wait.
func (c *Conn) Greeted() bool {
	raw, err := c.socket.SyscallConn()
	if err != nil {
		return false
	}
	greeted := false
	err = raw.Read(func(fd uintptr) (done bool) {
		b := make([]byte, len(Greeting))
		n, err := syscall.Read(int(fd), b)
		greeted = err == nil && string(b[:n]) == Greeting
		return true
	})
	return err == nil && greeted
}

// inherit takes over a socket by its number.
func inherit(number int) (*Conn, error) {
	var at syscall.Stat_t
	if err := syscall.Fstat(number, &at); err != nil {
		return nil, os.NewSyscallError("fstat", err)
	}
	if at.Mode&syscall.S_IFMT != syscall.S_IFSOCK { // a wrapper may have closed it, and its number be another file's
		return nil, os.ErrInvalid
	}
	syscall.CloseOnExec(number)
	if err := syscall.SetNonblock(number, false); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return connOf(blocking{os.NewFile(uintptr(number), "rounds")}), nil
}

// blocking is a socket whose reads block a thread.
type blocking struct{ *os.File }

// Close ends a read that is under way, and closes the socket.
func (b blocking) Close() error {
	if raw, err := b.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
	}
	return b.File.Close()
}

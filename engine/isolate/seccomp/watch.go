package seccomp

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// toldMax bounds the calls of one worker that are reported. The kernel answers further ones itself,
// as if it did not have them.
const toldMax = 200

// Blocked receives the calls of a worker that the kernel refuses.
type Blocked struct{ file *os.File }

// Watch takes over a listener.
func Watch(listener *os.File) *Blocked { return &Blocked{file: listener} }

// Close ends Each.
func (b *Blocked) Close() { b.file.Close() }

// notification and answer are the kernel's seccomp_notif and seccomp_notif_resp.
type notification struct {
	id           uint64
	pid          uint32
	flags        uint32
	number       int32
	architecture uint32
	pointer      uint64
	args         [6]uint64
}

type answer struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// Each refuses calls until the worker ends, and passes each name to tell before the calling thread
// continues.
func (b *Blocked) Each(tell func(call string)) {
	defer b.file.Close()
	raw, err := b.file.SyscallConn()
	if err != nil {
		return
	}
	for range toldMax {
		var n notification
		err := errors.New("none")
		waitErr := raw.Read(func(fd uintptr) bool {
			var ready bool
			ready, err = b.next(fd, &n)
			return ready
		})
		if waitErr != nil || errors.Is(err, errOver) {
			return
		}
		if err != nil {
			continue // the caller has ended
		}
		tell(n.name())
		refusal := answer{id: n.id, errno: -int32(unix.EPERM)}
		_ = raw.Control(func(fd uintptr) {
			_, _, _ = unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&refusal))) // a caller that has ended needs none
		})
	}
}

// errOver says that no process is left that could make a call.
var errOver = errors.New("all processes have ended")

// next reads a notification. ready is false if there was none to read yet.
func (b *Blocked) next(fd uintptr, n *notification) (ready bool, err error) {
	waiting := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // a descriptor is small
	if _, err := unix.Poll(waiting, 0); err != nil {
		return errors.Is(err, unix.EINTR), err
	}
	switch got := waiting[0].Revents; {
	case got&unix.POLLIN != 0:
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(n))); errno != 0 {
			return true, errno
		}
		return true, nil
	case got != 0:
		return true, errOver
	}
	return false, nil
}

// name is the call's name for people.
func (n *notification) name() string {
	number := uint32(n.number) //nolint:gosec // as the kernel compares it
	switch {
	case n.architecture != architecture:
		return fmt.Sprintf("system call %d of another architecture", n.number)
	case foreignBit != 0 && number&foreignBit != 0:
		return fmt.Sprintf("system call %d of x32", number&^foreignBit)
	case number == unix.SYS_CLONE:
		return "clone with new namespaces"
	case number == unix.SYS_UNSHARE:
		return "unshare with new namespaces"
	}
	for name, of := range refused {
		if of == number {
			return name
		}
	}
	return fmt.Sprintf("system call %d", number)
}

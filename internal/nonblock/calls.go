package nonblock

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Read is unix.Read of a descriptor that does not block.
func Read(fd uintptr, p []byte) (int, error) {
	t := transfer{call: unix.SYS_READ, buf: p}
	if t.now(fd); t.errno != 0 {
		return 0, t.errno
	}
	return t.n, nil
}

// ReadStart reads the start of a file that the kernel makes up, such as those in /proc.
func ReadStart(fd uintptr, p []byte) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_PREAD64, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// HasChildren reports whether this process has any child.
func HasChildren() bool {
	_, _, errno := unix.RawSyscall6(unix.SYS_WAITID, unix.P_ALL, 0, 0, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, 0, 0)
	return !errors.Is(errno, unix.ECHILD)
}

// Monotonic is the machine's monotonic clock, the same for all its processes, in nanoseconds.
func Monotonic() int64 {
	var t unix.Timespec
	if _, _, errno := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		panic("this machine has no monotonic clock") // Linux always has
	}
	return t.Nano()
}

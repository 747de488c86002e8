package seccomp

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Refuse makes the kernel refuse calls of this thread and of all programs that it will run, except
// those allowed by name. It returns a descriptor for Watch. The descriptor is -1 if another filter
// has a listener already: then calls are refused without a report. The thread must have
// no-new-privileges, and be locked to its goroutine.
func Refuse(allowed []string) (listener int, err error) {
	program, err := filter(allowed, unix.SECCOMP_RET_USER_NOTIF)
	if err != nil {
		return -1, err
	}
	listener, err = install(program, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	if !errors.Is(err, unix.EBUSY) {
		return listener, err
	}
	if program, err = filter(allowed, unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM)); err != nil {
		return -1, err
	}
	_, err = install(program, 0)
	return -1, err
}

func install(program []unix.SockFilter, flags uintptr) (int, error) {
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]} //nolint:gosec // some two hundred
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&p)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return -1, fmt.Errorf("have the kernel refuse system calls: %w", errno)
	}
	return int(fd), nil
}

package local

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// reserve takes a port of loopback for the cluster's life. The kernel gives it to no other process
// that requests any port, even while no process listens there, as at a restart of the manager. A
// process that requests it by number gets it: the socket is bound and does not listen, and Go sets
// SO_REUSEADDR.
func reserve() (address string, release func(), err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("reserve a port: %w", err)
	}
	release = func() { _ = unix.Close(fd) } // nothing was written
	err = errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	name, nameErr := unix.Getsockname(fd)
	at, _ := name.(*unix.SockaddrInet4)
	if err = errors.Join(err, nameErr); err != nil {
		release()
		return "", nil, fmt.Errorf("reserve a port of 127.0.0.1: %w", err)
	}
	return fmt.Sprintf("127.0.0.1:%d", at.Port), release, nil
}

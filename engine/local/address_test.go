package local

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A reserved port goes to a process that requests it by number, also twice, and never to one that
// requests any port.
func TestAReservedPortIsTheClusters(t *testing.T) {
	address, release, err := reserve()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	port, err := strconv.Atoi(address[strings.LastIndexByte(address, ':')+1:])
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatalf("the cluster's own manager does not get it: %v", err)
		}
		l.Close()
	}
	if err := anyPortOf(t, port); !errors.Is(err, unix.EADDRINUSE) && !errors.Is(err, unix.EADDRNOTAVAIL) {
		t.Errorf("who asks for any port, and has that one to choose from: %v", err)
	}
	release()
	if err := anyPortOf(t, port); err != nil {
		t.Errorf("it is not given back: %v", err)
	}
}

// anyPortOf binds a socket as a process that requests any port does, with one to choose from.
func anyPortOf(t *testing.T, port int) error {
	t.Helper()
	const ipLocalPortRange = 51 // of Linux 6.3
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, ipLocalPortRange, port<<16|port); errors.Is(err, unix.ENOPROTOOPT) {
		t.Fatal("this kernel gives no choice of ports: run the test on Linux 6.3 or later")
	} else if err != nil {
		t.Fatal(err)
	}
	return unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
}

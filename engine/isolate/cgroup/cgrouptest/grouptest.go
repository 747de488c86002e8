// Package cgrouptest is for tests that need a cgroup2 in which they may make groups. Like tests
// that mount disks, they run as root.
package cgrouptest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Run runs tests, such as those of a testing.M, with such a cgroup2. Where the machine has none, it
// mounts one, which stays, since tests of other packages may use it at the same time. Where it
// can't, the tests report what is missing.
func Run(tests func() int) int {
	if !writable() {
		folder := filepath.Join(os.TempDir(), "hamadryad-cgroup2")
		err := os.MkdirAll(folder, 0o755)
		if err == nil {
			err = unix.Mount("none", folder, "cgroup2", 0, "")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "no cgroup2 can be mounted:", err)
		}
	}
	return tests()
}

// writable reports whether groups can be made in a mounted cgroup2.
func writable() bool {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if !strings.Contains(line, " - cgroup2 ") || len(fields) < 5 {
			continue
		}
		probe := filepath.Join(fields[4], fmt.Sprintf("test-%d", os.Getpid()))
		if os.Mkdir(probe, 0o755) == nil {
			_ = unix.Rmdir(probe) // it is empty
			return true
		}
	}
	return false
}

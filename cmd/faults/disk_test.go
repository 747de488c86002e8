package faults

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// smallDisk puts a folder of the cluster on a disk of one MiB: a program does
// not fit. It needs the right to mount, as root has it.
func (c *cluster) smallDisk(name string) {
	c.t.Helper()
	path := c.path(name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", path, "tmpfs", 0, "size=1m"); err != nil {
		c.t.Fatalf("mount a small disk: %v: run the tests as root", err)
	}
	c.t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
}

// A launcher whose disk is full runs nothing; its work goes to another.
func TestOneFullDisk(t *testing.T) {
	c := startCluster(t, options{slots: 2})
	c.smallDisk("launcher0")
	c.addLauncher()
	c.addLauncher()
	c.submit("file", 0, 6, 2).succeeds()
}

// With every disk full the job fails in bounded time with a message that names
// the folder, and the cluster goes on when there is room again.
func TestAllDisksFull(t *testing.T) {
	c := startCluster(t, options{slots: 2, core: "  lostMax: 3\n"})
	c.smallDisk("launcher0")
	c.addLauncher()
	c.submit("file", 0, 2, 1).fails("no space left", c.path("launcher0"))
	c.addLauncher()
	c.submit("file", 0, 6, 2).succeeds()
}

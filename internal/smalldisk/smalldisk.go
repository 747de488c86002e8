// Package smalldisk is for tests of what happens when a disk is full: it makes disks of a few
// megabytes, and fills them. It needs the right to mount, as root has it.
//
//	release, err := smalldisk.Mount(folder, "2m")
//	defer release()
//	ballast, err := smalldisk.Fill(folder)
//	…
//	err = os.Remove(ballast)
package smalldisk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Mount puts a folder, which it makes, on a disk of a size such as 64m. Release takes the disk away, with
// all on it.
func Mount(folder, size string) (release func(), err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	if err := unix.Mount("tmpfs", folder, "tmpfs", 0, "size="+size); err != nil {
		return nil, fmt.Errorf("mount a small disk: %w: run the tests as root", err)
	}
	return func() { _ = unix.Unmount(folder, unix.MNT_DETACH) }, nil
}

// Fill takes all that is left of the disk under a folder, again when it is called again. The disk has room
// when the file that it returns is removed.
func Fill(folder string) (ballast string, err error) {
	ballast = filepath.Join(folder, "ballast")
	f, err := os.OpenFile(ballast, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for _, block := range [][]byte{make([]byte, 64<<10), make([]byte, 1)} {
		for err = nil; err == nil; {
			_, err = f.Write(block)
		}
		if !errors.Is(err, unix.ENOSPC) {
			return ballast, err
		}
	}
	return ballast, nil
}

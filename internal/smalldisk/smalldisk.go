// Package smalldisk is for tests with a full disk: it makes disks of a few megabytes, and fills
// them. It needs the right to mount, such as root's.
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

// Mount makes a folder and mounts a disk on it, of a size such as 64m. release unmounts the disk
// and discards its content.
func Mount(folder, size string) (release func(), err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	if err := unix.Mount("tmpfs", folder, "tmpfs", 0, "size="+size); err != nil {
		return nil, fmt.Errorf("mount a small disk: %w: run the tests as root", err)
	}
	return func() { _ = unix.Unmount(folder, unix.MNT_DETACH) }, nil
}

// Fill fills the rest of the disk under a folder, and may be called repeatedly. Removing the file
// that it returns makes room again.
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

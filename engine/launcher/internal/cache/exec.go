package cache

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// checkExec refuses a folder on a file system from which no program may start. Each worker would
// fail there with "permission denied", which names no cause.
func checkExec(folder string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(folder, &fs); err != nil {
		return fmt.Errorf("file system of %s: %w", folder, err)
	}
	if fs.Flags&unix.ST_NOEXEC != 0 {
		return fmt.Errorf("%s lies on a file system that is mounted noexec, so no worker can start from it: mount it without noexec, or give the launcher another data folder (launcher.data, --data)", folder)
	}
	return nil
}

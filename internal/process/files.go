package process

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// File is a local file that was shipped with the job.
type File struct {
	Path       string // as listed in the stage
	Executable bool
	Data       []byte
}

// Place writes files into a command's folder, under the last elements of their
// paths.
func Place(folder string, files []File) error {
	for _, f := range files {
		mode := os.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		path := filepath.Join(folder, filepath.Base(f.Path))
		if err := place(path, f.Data, mode); err != nil {
			return fmt.Errorf("place file %s for a command: %w", f.Path, err)
		}
	}
	return nil
}

// place writes a file while this process forks no other. A child that was forked meanwhile would
// hold the file open for writing until it runs exec, and the system refuses to execute such a file.
func place(path string, data []byte, mode os.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, mode)
}

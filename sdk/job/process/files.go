package process

import (
	"fmt"
	"os"
	"path/filepath"
)

// File is a local file that travelled with the job.
type File struct {
	Path       string // as the stage lists it
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
		if err := os.WriteFile(path, f.Data, mode); err != nil {
			return fmt.Errorf("place file %s for a command: %w", f.Path, err)
		}
	}
	return nil
}

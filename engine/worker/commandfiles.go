package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// placeFiles writes the files that travel with the job for a command into its
// folder, under the last elements of their paths.
func (w *worker) placeFiles(c *job.Command, folder string) error {
	for _, name := range c.Files {
		i := slices.IndexFunc(w.files, func(f plan.LocalFile) bool { return f.Path == name })
		if i < 0 {
			return invalidf("command %q: its file %s did not travel with the job: submit it with an engine of the same release", c.Args[0], name)
		}
		mode := os.FileMode(0o644)
		if w.files[i].Executable {
			mode = 0o755
		}
		path := filepath.Join(folder, filepath.Base(name))
		if err := os.WriteFile(path, w.files[i].Data, mode); err != nil {
			return explainDisk(fmt.Errorf("place file %s for command %q: %w", name, c.Args[0], err), path)
		}
	}
	return nil
}

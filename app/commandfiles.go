package app

import (
	"fmt"
	"os"
	"slices"

	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// commandFilesMax bounds the total size of the files that travel with a job for its commands: 256
// MiB. Larger files belong on storage that the launchers can read.
const commandFilesMax = 256 << 20

// commandFiles reads the files that the graph's stages list for their commands, each once.
func commandFiles(g *job.Graph) ([]plan.LocalFile, error) {
	var files []plan.LocalFile
	total := int64(0)
	for _, stage := range g.Stages() {
		s := stage.Spec()
		for _, path := range s.Files {
			if slices.ContainsFunc(files, func(f plan.LocalFile) bool { return f.Path == path }) {
				continue
			}
			info, err := os.Stat(path)
			if err != nil {
				return nil, fmt.Errorf("file for the commands of stage %q: %w", s.Name, err)
			}
			if total += info.Size(); total > commandFilesMax || !info.Mode().IsRegular() {
				return nil, fmt.Errorf("file %s for the commands of stage %q: only regular files of at most %d bytes in all travel with a job; put larger ones on storage that every launcher reads", path, s.Name, commandFilesMax)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("file for the commands of stage %q: %w", s.Name, err)
			}
			files = append(files, plan.LocalFile{Path: path, Executable: info.Mode()&0o111 != 0, Data: data})
		}
	}
	return files, nil
}

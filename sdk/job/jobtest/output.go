package jobtest

import (
	"os"
	"path/filepath"
	"strings"
)

// Output returns the contents of the files of a local output folder, in order of name, as a job
// that reads the folder would see them. Files whose names begin with "_" or ".", such as _SUCCESS,
// and folders are left out.
func Output(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), "_") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, string(data))
	}
	return files, nil
}

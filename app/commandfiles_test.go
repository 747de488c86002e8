package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job"
)

func TestFilesOfCommandsTravel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "script.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	graph := func(files ...string) *job.Graph {
		g, err := job.Build(job.Definition{Name: "j", Build: func(g *job.Graph, _ []string) error {
			g.CommandStage("first", 1, job.Command{Args: []string{"./script.sh"}, Files: files})
			g.CommandStage("second", 1, job.Command{Args: []string{"./script.sh"}, Files: files})
			return nil
		}}, nil, job.Recorded(nil, nil))
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	files, err := commandFiles(graph(path))
	if err != nil || len(files) != 1 || files[0].Path != path || !files[0].Executable || string(files[0].Data) != "#!/bin/sh\n" {
		t.Errorf("%v, %v", files, err)
	}
	if _, err := commandFiles(graph(path, path+".gone")); err == nil || !strings.Contains(err.Error(), `"first"`) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := commandFiles(graph(filepath.Dir(path))); err == nil || !strings.Contains(err.Error(), "regular") {
		t.Errorf("a folder: %v", err)
	}
}

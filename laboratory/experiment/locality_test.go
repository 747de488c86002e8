package experiment

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Published experiments state what locality costs, so that another default changes no figure of
// theirs.
func TestExperimentsStateWhatLocalityCosts(t *testing.T) {
	files, err := filepath.Glob("../experiments/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	states := regexp.MustCompile(`(?m)^  model: \{.*locality: \{rack: [0-9.]+, remote: [0-9.]+\}`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !states.Match(text) {
			t.Errorf("%s: state cluster.model.locality, such as {rack: 1, remote: 1}", file)
		}
	}
}

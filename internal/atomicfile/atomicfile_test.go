package atomicfile_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hamadryad/hamadryad/internal/atomicfile"
)

// alone checks that a folder holds one file, with that content.
func alone(t *testing.T, path, content string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != content {
		t.Errorf("the file holds %q (%v), want %q", got, err, content)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("besides the file there is something: %v (%v)", entries, err)
	}
}

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kept")
	for _, content := range []string{"one", "", "another"} {
		if err := atomicfile.Replace(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		alone(t, path, content)
	}
}

// What can't be put in place leaves nothing, and the old one as it was.
func TestNothingIsLeftOfAFailure(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "kept")
	inside := filepath.Join(folder, "inside")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(inside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if atomicfile.Replace(folder, []byte("no file takes a folder's place")) == nil {
		t.Error("a file took the place of a folder")
	}
	alone(t, inside, "")
	if entries, err := os.ReadDir(filepath.Dir(folder)); err != nil || len(entries) != 1 {
		t.Errorf("something is left: %v (%v)", entries, err)
	}
	if atomicfile.Replace(filepath.Join(folder, "none", "kept"), nil) == nil {
		t.Error("a file was written to a folder that is not there")
	}
}

// A reader beside several writers sees one of the files, whole.
func TestWritersAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kept")
	contents := map[string]bool{}
	for c := range byte(8) {
		content := make([]byte, 1<<16)
		for i := range content {
			content[i] = 'a' + c
		}
		contents[string(content)] = true
	}
	var writers sync.WaitGroup
	for content := range contents {
		writers.Go(func() {
			for range 4 {
				if err := atomicfile.Replace(path, []byte(content)); err != nil {
					t.Error(err)
				}
				if got, err := os.ReadFile(path); err != nil || !contents[string(got)] {
					t.Errorf("a file of %d bytes (%v) that nobody wrote", len(got), err)
				}
			}
		})
	}
	writers.Wait()
}

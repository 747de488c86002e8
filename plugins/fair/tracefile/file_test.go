package tracefile

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestFullFilesArePutAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	for range 2 { // the second appends to what the first left
		f, err := Open(path, 1000)
		if err != nil {
			t.Fatal(err)
		}
		f.Bound(8)
		for _, line := range []string{"one\n", "two\n", "three\n"} {
			if err := f.Write([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		f.Close()
	}
	// one two | three one | two three |
	for name, want := range map[string]string{path: "", path + ".1": "two\nthree\n"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}

// A disk failure is returned by the next write, and nothing is written after it.
func TestAFailureIsTold(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := Open(filepath.Join(folder, "trace"), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.RemoveAll(folder); err != nil { // so the full file can't be put aside
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); f.Write([]byte("line\n")) == nil; {
		if time.Now().After(end) {
			t.Fatal("the failure was not told")
		}
	}
}

package policyhost

import (
	"os"
	"path/filepath"
	"testing"
)

// A configuration is kept whole or not at all.
func TestKeeper(t *testing.T) {
	dir := t.TempDir()
	k := &acceptedConfigStore{folder: dir}
	if err := k.flush(); err != nil {
		t.Fatal(err)
	}
	if kept, err := Accepted(dir); kept != nil || err != nil {
		t.Errorf("%q, error %v", kept, err)
	}
	k.want([]byte("one"))
	k.want([]byte("two"))
	if err := k.flush(); err != nil {
		t.Fatal(err)
	}
	k.folder = filepath.Join(dir, "gone")
	k.want([]byte("three"))
	if err := k.flush(); err == nil {
		t.Error("there is no folder, and no error")
	}
	files, _ := os.ReadDir(dir)
	if kept, err := Accepted(dir); string(kept) != "two" || err != nil || len(files) != 1 {
		t.Errorf("%q, error %v, files %v", kept, err, files)
	}
}

package dataformat

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder is taken by the program that wrote it and by a newer one, and refused, as it
// is, by an older one.
func TestFolders(t *testing.T) {
	old, now := Versions{"core": 6}, Versions{"core": 7, "index": 1}
	folder := t.TempDir()
	path := filepath.Join(folder, File)
	if err := Check(folder, "manager", now); err != nil {
		t.Fatal(err)
	}
	for _, v := range []Versions{old, old, now} {
		if err := errors.Join(Check(folder, "manager", v), Mark(folder, "manager", v)); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, test := range map[string]struct {
		data  string
		reads Versions
		want  string
	}{
		"older":      {"manager", Versions{"core": 6, "index": 1}, "its core has version 7, and this program reads 6; start hamadryad "},
		"without":    {"manager", Versions{"core": 7}, "its index has version 1, and this program has no such format"},
		"launcher's": {"launcher", now, "has the data of a manager: give the launcher a folder of its own"},
	} {
		if err := Check(folder, test.data, test.reads); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("%s, %v", after, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Check(folder, "manager", now)); err == nil || !strings.Contains(err.Error(), "put a copy of it back") {
		t.Error(err)
	}
	if err := Mark(folder, "manager", now); err == nil {
		t.Error("a mark that can't be read is written over")
	}
}

package folder_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/launcher/folder"
)

func open(t *testing.T, root string) *folder.Folder {
	t.Helper()
	f, err := folder.Open(root, false)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func incarnation(t *testing.T, f *folder.Folder) uint64 {
	t.Helper()
	n, err := f.Incarnation()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// From one life to the next a folder keeps its identity, larger incarnations, and the
// configuration, and nothing that attempts left.
func TestLives(t *testing.T) {
	root := t.TempDir()
	f := open(t, root)
	first := incarnation(t, f)
	if second := incarnation(t, f); second <= first {
		t.Errorf("incarnation %d after %d", second, first)
	}
	identity := f.Identity()
	if err := os.WriteFile(filepath.Join(f.Store(), "left"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if kept, err := folder.Accepted(root); kept != nil || err != nil {
		t.Errorf("a new folder has a configuration: %q (%v)", kept, err)
	}
	for _, text := range []string{"one", "two"} {
		if err := f.Accept([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := folder.Open(root, false); err == nil || !strings.Contains(err.Error(), "in use by another launcher") {
		t.Errorf("two launchers have one folder: %v", err)
	}
	last := incarnation(t, f)
	f.Close()
	f = open(t, root)
	defer f.Close()
	if n := incarnation(t, f); n <= last || f.Identity() != identity || identity == "" {
		t.Errorf("incarnation %d of %q after %d of %q", n, f.Identity(), last, identity)
	}
	if left, err := os.ReadDir(f.Store()); err != nil || len(left) > 0 {
		t.Errorf("an earlier life left %v (%v)", left, err)
	}
	if kept, err := folder.Accepted(root); string(kept) != "two" || err != nil {
		t.Errorf("the configuration is %q (%v)", kept, err)
	}
}

package datadir_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/launcher/internal/datadir"
	"github.com/hamadryad/hamadryad/internal/dataformat"
)

func open(t *testing.T, root string) *datadir.Dir {
	t.Helper()
	f, err := datadir.Open(root, false)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func incarnation(t *testing.T, f *datadir.Dir) uint64 {
	t.Helper()
	n, err := f.Incarnation()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A folder of a newer launcher, or of a manager, is left unchanged: stored outputs are still there
// when the newer launcher returns.
func TestOthersData(t *testing.T) {
	root := t.TempDir()
	f := open(t, root)
	stored, mark := filepath.Join(f.Store(), "stored"), filepath.Join(root, dataformat.File)
	if err := os.WriteFile(stored, []byte("bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.Close()
	text, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	for change, want := range map[[2]string]string{
		{`"files": 1`, `"files": 2`}:                "its files has version 2, and this program reads 1; start hamadryad ",
		{`"files": 1`, `"files": 1, "pages": 3`}:    "its pages has version 3, and this program has no such format",
		{`"data": "launcher"`, `"data": "manager"`}: "has the data of a manager",
	} {
		if err := os.WriteFile(mark, []byte(strings.Replace(string(text), change[0], change[1], 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := datadir.Open(root, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one with %q", err, want)
		}
		if b, err := os.ReadFile(stored); string(b) != "bytes" || err != nil {
			t.Errorf("what was stored is %q (%v)", b, err)
		}
	}
}

// Across restarts a folder keeps its identity, larger incarnations, and the configuration, and no
// files of attempts.
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
	if kept, err := datadir.Accepted(root); kept != nil || err != nil {
		t.Errorf("a new folder has a configuration: %q (%v)", kept, err)
	}
	for _, text := range []string{"one", "two"} {
		if err := f.Accept([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := datadir.Open(root, false); err == nil || !strings.Contains(err.Error(), "in use by another launcher") {
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
	if kept, err := datadir.Accepted(root); string(kept) != "two" || err != nil {
		t.Errorf("the configuration is %q (%v)", kept, err)
	}
}

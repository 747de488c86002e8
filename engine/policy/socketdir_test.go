package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// No other user may choose what is in the place of a plug-in's sockets.
func TestSocketsLieInAFolderOfOurOwn(t *testing.T) {
	own := t.TempDir()
	for name, c := range map[string]struct {
		prepare func(path string) error
		want    string // "": it is taken
	}{
		"made by us":     {func(string) error { return nil }, ""},
		"ours":           {func(p string) error { return os.Mkdir(p, 0o700) }, ""},
		"readable":       {func(p string) error { return os.Mkdir(p, 0o755) }, ""},
		"a link":         {func(p string) error { return os.Symlink(own, p) }, "is a link or no folder"},
		"others' to use": {func(p string) error { return writable(p, 0o777) }, "chmod 700"},
		"a group's":      {func(p string) error { return writable(p, 0o770) }, "chmod 700"},
		"somebody's":     {func(p string) error { return somebodys(p) }, "belongs to user 12345"},
	} {
		parent, err := os.MkdirTemp("", "hd-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(parent) })
		path := filepath.Join(parent, "s")
		if err := c.prepare(path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		d, err := newSocketDir(path)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err == nil {
			if err := d.remove(); err != nil {
				t.Error(err)
			}
		}
	}
	if left, err := os.ReadDir(own); err != nil || len(left) > 0 {
		t.Errorf("a link was followed: %v, %v", left, err)
	}
}

func writable(path string, mode os.FileMode) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

// somebodys makes a folder of another user, which takes root.
func somebodys(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	return os.Chown(path, 12345, 12345)
}

// Hosts that start at the same time sweep the same leftovers, and each gets a folder of its own.
func TestHostsSweepAtTheSameTime(t *testing.T) {
	for range 20 {
		parent := t.TempDir()
		for range 20 {
			dead, err := os.MkdirTemp(parent, socketDirPrefix)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dead, socketDirLock), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		errs := make([]error, 8)
		var starts sync.WaitGroup
		for i := range errs {
			starts.Go(func() {
				d, err := makeSocketDir(parent)
				if err == nil {
					_, err = os.Stat(filepath.Join(d.path, socketDirLock))
					err = errors.Join(err, d.remove())
				}
				errs[i] = err
			})
		}
		starts.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
}

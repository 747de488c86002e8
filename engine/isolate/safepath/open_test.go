package safepath_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/isolate/safepath"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte("text"), 0o600))
}

// Only a plain file of its owner is opened: no link, wherever it is and leads, no pipe, which would
// block, no folder, and nothing outside.
func TestOpen(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	write(t, at("job/file"))
	write(t, filepath.Join(outside, "file"))
	must(t, os.Symlink("file", at("job/link")))
	must(t, os.Symlink(filepath.Join(outside, "file"), at("job/away")))
	must(t, os.Symlink("job", at("jobs")))
	must(t, unix.Mkfifo(at("job/pipe"), 0o600))
	write(t, at("job/one"))
	must(t, os.Link(at("job/one"), at("job/other")))
	for name, want := range map[string]error{
		"job/file": nil, "job/link": safepath.ErrForeign, "job/away": safepath.ErrForeign, "jobs/file": safepath.ErrForeign,
		"job/pipe": safepath.ErrForeign, "job": safepath.ErrForeign, "job/one": safepath.ErrForeign, "job/none": fs.ErrNotExist,
		"../" + filepath.Base(outside) + "/file": safepath.ErrForeign,
	} {
		f, err := safepath.Open(root, name, os.Getuid())
		if !errors.Is(err, want) || (want == nil) != (f != nil) {
			t.Errorf("%s: %v", name, err)
		}
		if f != nil {
			f.Close()
		}
	}
	if _, err := safepath.Open(root, "job/file", os.Getuid()+1); !errors.Is(err, safepath.ErrForeign) {
		t.Errorf("a file of another user: %v", err)
	}
}

// A tree is removed completely, and the targets of its links stay.
func TestRemoveAll(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "file"))
	write(t, filepath.Join(root, "tree/a/b/file"))
	write(t, filepath.Join(root, "beside"))
	must(t, os.Symlink(outside, filepath.Join(root, "tree/a/away")))
	must(t, unix.Mkfifo(filepath.Join(root, "tree/pipe"), 0o600))
	must(t, os.Symlink(outside, filepath.Join(root, "link")))
	for _, name := range []string{"tree/a", "tree", "tree", "link", "none/below"} {
		must(t, safepath.RemoveAll(root, name))
	}
	left, err := os.ReadDir(root)
	must(t, err)
	if len(left) != 1 || left[0].Name() != "beside" {
		t.Errorf("left: %v", left)
	}
	if _, err := os.Stat(filepath.Join(outside, "file")); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(outside, "sub/file"))
	must(t, os.Symlink(outside, filepath.Join(root, "link")))
	if err := safepath.RemoveAll(root, "link/sub"); err == nil {
		t.Error("it went through a link")
	}
	if _, err := os.Stat(filepath.Join(outside, "sub/file")); err != nil {
		t.Error(err)
	}
}

// However deep a tree is, and whatever its names, few of its folders are open at once.
func TestRemoveAllOfDeepTrees(t *testing.T) {
	const depth = 2000
	root := t.TempDir()
	dir, err := unix.Open(root, unix.O_DIRECTORY, 0)
	must(t, err)
	for i := range depth {
		name := "d"
		if i == 0 {
			name = "tree"
		}
		must(t, unix.Mkdirat(dir, name, 0o700))
		if i == 1 {
			must(t, unix.Mkdirat(dir, ".moved-1", 0o700)) // a name that moveUp would choose
		}
		next, err := unix.Openat(dir, name, unix.O_DIRECTORY, 0)
		must(t, err)
		must(t, unix.Close(dir))
		dir = next
	}
	must(t, unix.Close(dir))
	var before unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	few := before
	few.Cur = 128
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
	defer func() { must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before)) }()
	must(t, safepath.RemoveAll(root, "tree"))
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left: %v (%v)", left, err)
	}
}

// Mounts below the folder are not touched, and give an error.
func TestRemoveAllStopsAtMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("this test mounts a file system, so it needs root")
	}
	root := t.TempDir()
	mounted := filepath.Join(root, "tree/mounted")
	must(t, os.MkdirAll(mounted, 0o700))
	must(t, unix.Mount("tmpfs", mounted, "tmpfs", 0, "size=1m"))
	defer func() { must(t, unix.Unmount(mounted, 0)) }()
	write(t, filepath.Join(mounted, "file"))
	if err := safepath.RemoveAll(root, "tree"); err == nil || !strings.Contains(err.Error(), "mounted") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(mounted, "file")); err != nil {
		t.Error(err)
	}
}

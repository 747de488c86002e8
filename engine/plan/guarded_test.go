package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
)

// No other user can change a folder that the submitter makes, whatever its umask. An existing
// folder is not taken.
func TestMakeFolder(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	folder := t.TempDir() + "/a"
	owner, err := MakeFolder(t.Context(), folder)
	if want := fmt.Sprint("uid:", os.Geteuid()); owner != want || err != nil {
		t.Errorf("%s, %v; want %s", owner, err, want)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o775 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := MakeFolder(t.Context(), folder); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made twice: %v", err)
	}
	link := folder + "-link"
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	if _, err := MakeFolder(t.Context(), link); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a link: %v", err)
	}
	if err := CheckFolder(t.Context(), link, nil); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "a link") {
		t.Errorf("a link: %v", err)
	}
}

// Channels are not kept where everybody may rename others' files. A link to a good folder is good.
func TestCheckStore(t *testing.T) {
	folder := t.TempDir()
	link := t.TempDir() + "/link"
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	for mode, refused := range map[fs.FileMode]bool{0o755: false, 0o777: true, 0o777 | fs.ModeSticky: false} {
		if err := os.Chmod(folder, mode); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{folder, folder + "/", link} {
			if err := CheckStore(t.Context(), path); (err != nil) != refused || refused && !strings.Contains(err.Error(), "chmod +t") {
				t.Errorf("%s of mode %v: %v", path, mode, err)
			}
		}
	}
	if err := CheckStore(t.Context(), folder+"/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestSecret(t *testing.T) {
	if a, b := NewSecret(), NewSecret(); a == b || CheckSecret(a) != nil || len(a) != 13 {
		t.Errorf("%q, %q", a, b)
	}
	for _, wrong := range []string{"a/b", "..", "A", strings.Repeat("a", 33)} {
		if CheckSecret(wrong) == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
	o := Owner{Cluster: "5f0c93aa", Job: 12}
	if got := o.Temporary("/out") + o.Channels("/s"); got != "/out.job-12.5f0c93aa.tmp/s/job-12.5f0c93aa.channels" {
		t.Error(got)
	}
	o.Secret = "abc"
	if got := o.Temporary("/out") + o.Channels("/s"); got != "/out.job-12.5f0c93aa.abc.tmp/s/job-12.5f0c93aa.abc.channels" {
		t.Error(got)
	}
}

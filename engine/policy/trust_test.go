package policy

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A plug-in gets the usual and the named variables of the host's environment, and no secrets.
func TestEnvironment(t *testing.T) {
	t.Setenv("HAMADRYAD_TEST_SECRET", "s")
	t.Setenv("HAMADRYAD_TEST_NAMED", "n")
	t.Setenv("TZ", "UTC")
	got := environment([]string{"HAMADRYAD_TEST_NAMED"}, []string{"PLUGIN_MIN_PORT=0"})
	for v, want := range map[string]bool{"HAMADRYAD_TEST_SECRET=s": false, "HAMADRYAD_TEST_NAMED=n": true, "TZ=UTC": true, "PLUGIN_MIN_PORT=0": true} {
		if slices.Contains(got, v) != want {
			t.Errorf("%s is there: %t", v, !want)
		}
	}
}

// A program that somebody but root may change, or put another in place of, does not run as root.
func TestProgramOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("run this test as root: what others may write matters to a manager that root starts")
	}
	for want, spoil := range map[string]func(folder, program string) error{
		"":                  func(string, string) error { return nil },
		"/program (mode 0":  func(_, p string) error { return os.Chmod(p, 0o757) }, //nolint:gosec // that this is refused is tested
		"chown root":        func(_, p string) error { return os.Chown(p, 1, 0) },
		"group 1":           func(_, p string) error { return errors.Join(os.Chown(p, 0, 1), os.Chmod(p, 0o775)) }, //nolint:gosec // as above
		"/bin (mode 0777":   func(f, _ string) error { return os.Chmod(f, 0o777) },                                 //nolint:gosec // as above
		"belongs to user 1": func(f, _ string) error { return os.Chown(f, 1, 1) },
		"/above (mode 0777": func(f, _ string) error { return os.Chmod(filepath.Dir(f), 0o777) }, //nolint:gosec // as above
	} {
		folder := filepath.Join(t.TempDir(), "above", "bin")
		program := filepath.Join(folder, "program")
		if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(program, []byte("x"), 0o755), spoil(folder, program)); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
		err := checkProgram(program, "")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

package kit_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hamadryad/hamadryad/internal/minihdfs/kit"
)

// Without Java or Maven, the error says what to install.
func TestPrepareWithoutItsTools(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if _, err := kit.Prepare(t.Context(), "none", fstest.MapFS{"pom.xml": {}}, io.Discard); err == nil || !strings.Contains(err.Error(), "java") || !strings.Contains(err.Error(), kit.Install) {
		t.Errorf("without java: %v", err)
	}
	java := filepath.Join(t.TempDir(), "bin", "java")
	if err := os.MkdirAll(filepath.Dir(java), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(java, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("JAVA_HOME", filepath.Dir(filepath.Dir(java)))
	if _, err := kit.Prepare(t.Context(), "none", fstest.MapFS{"pom.xml": {}}, io.Discard); err == nil || !strings.Contains(err.Error(), "mvn") || !strings.Contains(err.Error(), kit.Install) {
		t.Errorf("without mvn: %v", err)
	}
}

// The same holds for a machine without Python, without its venv, or without the packages.
func TestPythonWithoutWhatItNeeds(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	pins := fstest.MapFS{"requirements.txt": {Data: []byte("pyarrow==26.0.1\n")}}
	wants := func(want string) {
		t.Helper()
		if _, err := kit.Python(t.Context(), "none", pins, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	wants(kit.InstallPython)
	script := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, "python3"), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script("echo no module named venv; exit 1")
	wants("no module named venv")
	script(`/bin/mkdir -p "$3/bin" && { echo '#!/bin/sh'; echo 'echo no network; exit 1'; } >"$3/bin/python" && /bin/chmod +x "$3/bin/python"`)
	wants("pyarrow==26.0.1")
	wants("no network")
}

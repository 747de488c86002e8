package kit_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hamadryad/hamadryad/hdfs/mini/kit"
)

// A machine without Java or Maven is told what to install.
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

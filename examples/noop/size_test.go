package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// programBytesMax is the size of an author's program, as a plain "go build" makes it. hdfsBytesMax is that of one with
// HDFS: the client of HDFS has the messages of its protocol and all of Kerberos.
const (
	programBytesMax = 20_000_000
	hdfsBytesMax    = 23_500_000
)

// A program of an author has no server of gRPC, and nothing that makes the linker keep every exported method.
func TestProgramsAreSmall(t *testing.T) {
	deps := strings.Fields(run(t, "list", "-deps", "."))
	for _, imported := range []string{"google.golang.org/grpc", "golang.org/x/net/trace", "text/template", "html/template"} {
		if slices.Contains(deps, imported) {
			t.Errorf("the program links %s: find who imports it by \"go list -deps -f '{{.ImportPath}} {{.Imports}}' ./examples/noop\"", imported)
		}
	}
	for folder, most := range map[string]int64{".": programBytesMax, "../terasort": programBytesMax, "../wordcount": hdfsBytesMax} {
		program := filepath.Join(t.TempDir(), "program")
		run(t, "build", "-o", program, folder)
		info, err := os.Stat(program)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > most {
			t.Errorf("%s has %d bytes, and should have at most %d: \"go tool nm -size -sort size\" says what is large", folder, info.Size(), most)
		}
	}
}

// run has go do something as an author has it do it, without flags of ours.
func run(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", args...)
	c.Env = append(os.Environ(), "GOFLAGS=-trimpath")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("go %v: %v: %s", args, err, out)
	}
	return string(out)
}

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// programBytesMax is the size of a program that a plain "go build" makes of the smallest job.
const programBytesMax = 20_000_000

// A program of an author has no server of gRPC, and nothing that makes the linker keep every exported method.
func TestProgramIsSmall(t *testing.T) {
	deps := strings.Fields(run(t, "list", "-deps", "."))
	for _, imported := range []string{"google.golang.org/grpc", "golang.org/x/net/trace", "text/template", "html/template"} {
		if slices.Contains(deps, imported) {
			t.Errorf("the program links %s: find who imports it by \"go list -deps -f '{{.ImportPath}} {{.Imports}}' ./examples/noop\"", imported)
		}
	}
	program := filepath.Join(t.TempDir(), "noop")
	run(t, "build", "-o", program, ".")
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > programBytesMax {
		t.Errorf("it has %d bytes, and should have at most %d: \"go tool nm -size -sort size\" says what is large", info.Size(), programBytesMax)
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

package hamadryad_test

import (
	"os"
	"strings"
	"testing"
)

// The README's program is one that the tests run.
func TestReadmeProgram(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("examples/loggrep/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(readme), "```go\n")
	program, _, found := strings.Cut(program, "```")
	if !found || !strings.HasSuffix(string(example), program) {
		t.Error("the program in README.md is not that of examples/loggrep/main.go: copy it again")
	}
}

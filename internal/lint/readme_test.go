package lint_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// readmeWords is below how many words the README stays, its program and tables included.
const readmeWords = 900

// The README's program is an example that the tests run, whole.
func TestReadmeProgram(t *testing.T) {
	example := mustRead(t, "examples/wordcount/main.go")
	_, program, _ := strings.Cut(mustRead(t, "README.md"), "```go\n")
	program, _, found := strings.Cut(program, "```")
	if !found || !strings.HasPrefix(program, "package main\n") || !strings.HasSuffix(example, program) {
		t.Error("the program in README.md is not examples/wordcount/main.go from its package clause on: copy it again")
	}
}

// The README's commands for a cluster are those of the guide that goes on from there, which a test runs.
func TestReadmeCluster(t *testing.T) {
	guide := mustRead(t, "docs/operations/CLUSTER.md")
	commands := regexp.MustCompile(`(?m)^node-\d\$ .*$`).FindAllString(mustRead(t, "README.md"), -1)
	if len(commands) != 3 {
		t.Errorf("the README has %d commands for a cluster, want 3: %q", len(commands), commands)
	}
	for _, c := range commands {
		if !strings.Contains(guide, c+"\n") {
			t.Errorf("the README has %q, which docs/operations/CLUSTER.md does not", c)
		}
	}
}

// The README stays short enough to be read whole.
func TestReadmeIsShort(t *testing.T) {
	readme := mustRead(t, "README.md")
	if n := len(strings.Fields(readme)); n >= readmeWords {
		t.Errorf("the README has %d words, want fewer than %d", n, readmeWords)
	}
	for line := range strings.Lines(readme) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 120 {
			t.Errorf("a line of the README has %d characters, want at most 120: %s", n, line)
		}
	}
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

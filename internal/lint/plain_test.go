package lint_test

import (
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/internal/lint"
)

// architectureWords is below how many words docs/ARCHITECTURE.md stays: details are in package comments.
const architectureWords = 5000

// plainDocuments are held to these bounds.
var plainDocuments = []string{
	"README.md", "docs/HACKING.md", "docs/RUNNING.md", "docs/SIMULATOR.md",
	"docs/DAG.md", "docs/STREAMING.md", "docs/ACCESS.md", "docs/POLICIES.md", "docs/ARCHITECTURE.md",
	"docs/operations/CLUSTER.md", "docs/operations/ISOLATION.md", "docs/operations/SCHEDULING.md",
}

func TestDocumentsAreReadable(t *testing.T) {
	for _, name := range plainDocuments {
		text := mustRead(t, name)
		for _, line := range lint.LongLines(text) {
			t.Errorf("%s: a line has more than %d characters: %s", name, lint.LineMax, line)
		}
		for _, sentence := range lint.LongSentences(text) {
			t.Errorf("%s: a sentence has more than %d words: %s", name, lint.SentenceMax, sentence)
		}
	}
}

// docs/ARCHITECTURE.md stays short enough to be read in half an hour.
func TestArchitectureIsShort(t *testing.T) {
	if n := len(strings.Fields(mustRead(t, "docs/ARCHITECTURE.md"))); n >= architectureWords {
		t.Errorf("docs/ARCHITECTURE.md has %d words, want fewer than %d", n, architectureWords)
	}
}

// Package comments say their purpose in sentences that a stranger reads once.
func TestPackageCommentsAreReadable(t *testing.T) {
	for _, f := range sources(t) {
		if f.tree.Doc == nil || strings.HasSuffix(f.path, "_test.go") || strings.HasSuffix(f.path, ".pb.go") {
			continue
		}
		for _, sentence := range lint.LongSentences(lint.CommentProse(f.tree.Doc.Text())) {
			t.Errorf("%s: a sentence has more than %d words: %s", f.path, lint.SentenceMax, sentence)
		}
	}
}

package hamadryad_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// Bounds of what people read.
const (
	lineMax     = 120 // characters of a line of Markdown, but for tables, code and lines that are one link
	sentenceMax = 25  // words of a sentence, where code in backticks and a link's target count as one word
)

// architectureWords is below how many words docs/ARCHITECTURE.md stays: details are in package comments.
const architectureWords = 5000

// plainDocuments are held to these bounds.
var plainDocuments = []string{
	"README.md", "docs/RUNNING.md", "docs/SIMULATOR.md",
	"docs/DAG.md", "docs/STREAMING.md", "docs/ACCESS.md", "docs/POLICIES.md", "docs/ARCHITECTURE.md",
	"docs/operations/CLUSTER.md", "docs/operations/ISOLATION.md", "docs/operations/SCHEDULING.md",
}

func TestDocumentsAreReadable(t *testing.T) {
	for _, name := range plainDocuments {
		text := mustRead(t, name)
		for _, line := range longLines(text) {
			t.Errorf("%s: a line has more than %d characters: %s", name, lineMax, line)
		}
		for _, sentence := range longSentences(text) {
			t.Errorf("%s: a sentence has more than %d words: %s", name, sentenceMax, sentence)
		}
	}
}

// docs/ARCHITECTURE.md stays short enough to be read in half an hour.
func TestArchitectureIsShort(t *testing.T) {
	if n := len(strings.Fields(mustRead(t, "docs/ARCHITECTURE.md"))); n >= architectureWords {
		t.Errorf("docs/ARCHITECTURE.md has %d words, want fewer than %d", n, architectureWords)
	}
}

func TestLongSentences(t *testing.T) {
	long := strings.Repeat("word ", sentenceMax)
	for text, want := range map[string]int{
		long + "more.":                   1,
		strings.TrimSpace(long) + ".":    0,
		long + "\nmore. Short.":          1,
		"Short. " + long + "[more](x y)": 1,
		strings.TrimSpace(long) + ".\n\n- " + strings.TrimSpace(long): 0,
		"```\n" + long + "more\n```\n":                                0,
		"| " + long + "more |":                                        0,
		strings.Repeat("word ", sentenceMax-1) + "`a b c`.":           0,
		"e.g. " + long: 1,
	} {
		if got := longSentences(text); len(got) != want {
			t.Errorf("%q has the long sentences %q, want %d", text, got, want)
		}
	}
}

// proseOf returns a document's lines without code, tables, HTML comments and headings. An empty line
// stands where a paragraph ends.
func proseOf(text string) (lines []string) {
	code := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
			line = ""
		}
		trimmed := strings.TrimSpace(line)
		if code || strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, "<") {
			line = ""
		}
		lines = append(lines, line)
	}
	return lines
}

// onlyLink is a line that one link or picture fills.
var onlyLink = regexp.MustCompile(`^\s*[-*]?\s*!?\[[^]]*\]\([^)]*\)\S*$`)

func longLines(text string) (long []string) {
	for _, line := range proseOf(text) {
		if utf8.RuneCountInString(line) > lineMax && !onlyLink.MatchString(line) {
			long = append(long, line)
		}
	}
	return long
}

var (
	item        = regexp.MustCompile(`^\s*(?:[-*]|\d+\.) `)
	inlineCode  = regexp.MustCompile("`[^`]*`")
	linkTarget  = regexp.MustCompile(`\]\([^)]*\)`)
	sentenceEnd = regexp.MustCompile(`[.?!][*)"]*\s+`)
)

func longSentences(text string) (long []string) {
	var paragraph strings.Builder
	end := func() {
		plain := linkTarget.ReplaceAllString(inlineCode.ReplaceAllString(paragraph.String(), "code"), "]")
		paragraph.Reset()
		plain = strings.NewReplacer("e.g. ", "eg ", "i.e. ", "ie ").Replace(plain)
		for _, sentence := range sentenceEnd.Split(plain, -1) {
			if len(strings.Fields(sentence)) > sentenceMax {
				long = append(long, strings.TrimSpace(sentence))
			}
		}
	}
	for _, line := range proseOf(text) {
		if line == "" || item.MatchString(line) {
			end()
		}
		paragraph.WriteString(item.ReplaceAllString(line, "") + " ")
	}
	end()
	return long
}

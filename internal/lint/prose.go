// Package lint holds the house rules. Its functions count what makes texts hard to read: long lines
// and long sentences. Its tests read the whole tree. They check which package imports which, that
// deciding code is pure, that documents name what exists, and which words the code uses.
//
//	go test ./internal/lint
//
// A rule that the compiler enforces has no test here: a package for one tree only is in that tree's
// internal folder.
package lint

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Bounds of texts for people.
const (
	LineMax     = 120 // characters of a line of Markdown
	SentenceMax = 25  // words of a sentence
)

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

// onlyLink matches a line that consists of one link or picture.
var onlyLink = regexp.MustCompile(`^\s*[-*]?\s*!?\[[^]]*\]\([^)]*\)\S*$`)

// LongLines returns the lines of a Markdown text that have more than LineMax characters. Code, tables and
// lines that one link fills do not count.
func LongLines(text string) (long []string) {
	for _, line := range proseOf(text) {
		if utf8.RuneCountInString(line) > LineMax && !onlyLink.MatchString(line) {
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

// LongSentences returns the sentences of a Markdown text that have more than SentenceMax words. Code in
// backticks and the target of a link count as one word; headings, tables and code blocks do not count.
func LongSentences(text string) (long []string) {
	var paragraph strings.Builder
	end := func() {
		plain := linkTarget.ReplaceAllString(inlineCode.ReplaceAllString(paragraph.String(), "code"), "]")
		paragraph.Reset()
		plain = strings.NewReplacer("e.g. ", "eg ", "i.e. ", "ie ").Replace(plain)
		for _, sentence := range sentenceEnd.Split(plain, -1) {
			if len(strings.Fields(sentence)) > SentenceMax {
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

// CommentProse returns the text of a Go comment without its code, which is indented by a tab.
func CommentProse(text string) string {
	var prose strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "\t") {
			line = "\n"
		}
		prose.WriteString(line)
	}
	return prose.String()
}

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// parse reads the one document of a text; an empty node: there is none. Mistakes have their line.
func parse(file string, text []byte) (*yaml.Node, error) {
	if at := firstWrong(text); at >= 0 {
		line, r := 1+bytes.Count(text[:at], []byte("\n")), rune(0)
		if r, _ = utf8.DecodeRune(text[at:]); endsLine(r) {
			return nil, fmt.Errorf("%s:%d: a line ends here by %U, as few programs end one: end each by a newline", file, line, r)
		}
		return nil, fmt.Errorf("%s:%d: a character here is no text, or steers a terminal: write the text in UTF-8, with spaces and ends of lines alone between its words", file, line)
	}
	var node, second yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(text))
	err := documents.Decode(&node)
	if err == nil {
		err = documents.Decode(&second)
	}
	switch {
	case err == nil:
		return nil, fmt.Errorf("%s:%d: a second document begins here: a configuration is one, so nothing of it would count", file, second.Line)
	case !errors.Is(err, io.EOF):
		return nil, noYAML(file, text, err)
	}
	return &node, nil
}

// firstWrong is the offset of the first character that YAML never allows, or that ends a line for
// YAML alone, so that line numbers would differ from the file's; -1: none.
func firstWrong(text []byte) int {
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		switch {
		case r == '\r' && bytes.HasPrefix(text[at+n:], []byte("\n")): // as files of Windows end them
		case r == utf8.RuneError && n == 1, r < ' ' && r != '\t' && r != '\n', r >= 0x7f && r < 0xa0, endsLine(r):
			return at
		}
		at += n
	}
	return -1
}

// endsLine reports whether YAML takes a character other than newline for the end of a line (YAML
// 1.1, section 4.1.4).
func endsLine(r rune) bool { return r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029 }

// Parts of the parser's messages: the position, and the anchor's name.
var (
	lineOfParser   = regexp.MustCompile(`^line (\d+): `)
	anchorOfParser = regexp.MustCompile(`anchor '([^']+)'`)
)

// mistakes translate the parser's words into common ones. The first that fits counts.
var mistakes = []struct{ parser, words string }{
	{"cannot start any token", "this begins with a character that YAML keeps for itself: indent with spaces and not with tabs, and put quotes round a text that begins with @, ` or %"},
	{"tab character", "a tab stands where spaces have to: indent with spaces"},
	{"unexpected end of stream", "a quotation mark opens here, and nothing closes it: close it"},
	{"',' or '}'", "a brace opens here, and nothing closes it, or a comma is missing behind it: add it"},
	{"',' or ']'", "a bracket opens here, and nothing closes it, or a comma is missing behind it: add it"},
	{"mapping values are not allowed", "a colon stands where no key can: indent the line as its neighbours, or put quotes round the value that has the colon"},
	{"mapping keys are not allowed", "a key stands where none can: indent the line as its neighbours"},
	{"block sequence entries are not allowed", "a list begins where none can: begin it on a line of its own, or put quotes round a text that begins with a dash"},
	{"expected key", "this line is not indented as the keys before it: keys of one section begin in the same column"},
	{"'-' indicator", "this line is not indented as the list before it: its dashes stand in one column"},
	{"could not find expected ':'", "a key is not followed by a colon: write key: value, with a space behind the colon"},
	{"unknown anchor", "nothing before this is named by the anchor that is referred to: put quotes round a text that begins with *"},
	{"contains itself", "an anchor is used in what it stands for: write the value out"},
	{"escape", "a backslash in double quotes begins nothing that YAML knows: double it, or use single quotes"},
	{"already defined", "a key stands here twice: leave one out"},
}

// noYAML says where a text stops being YAML, and why. The parser's own line number is sometimes
// missing, and sometimes that of the line before.
func noYAML(file string, text []byte, err error) error {
	cause := causeOf(err)
	from := 1
	if m := lineOfParser.FindStringSubmatch(cause); m != nil {
		from, _ = strconv.Atoi(m[1]) // digits, and few
		cause = cause[len(m[0]):]
	}
	at := lineOf(text, cause, max(from, 1))
	for _, m := range mistakes {
		if strings.Contains(cause, m.parser) {
			return fmt.Errorf("%s:%d: %s", file, at, m.words)
		}
	}
	return fmt.Errorf("%s:%d: this is no YAML (%s): correct it", file, at, cause)
}

// causeOf is the parser's first message, without its prefix.
func causeOf(err error) string {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:\n")
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}

// lineBytesMax bounds the bytes that are read again to find the line of a mistake.
const lineBytesMax = 1 << 20

// lineOf is the first line, starting at from, with which a text has a mistake. If the search costs
// too much it returns from.
func lineOf(text []byte, cause string, from int) int {
	lines := bytes.SplitAfter(bytes.TrimRight(text, "\n"), []byte("\n"))
	if m := anchorOfParser.FindStringSubmatch(cause); m != nil {
		if at := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte("*"+m[1])) }); at >= 0 {
			return at + 1
		}
	}
	from = min(from, len(lines))
	before, read := len(bytes.Join(lines[:from-1], nil)), 0
	for n := from; n <= len(lines); n++ {
		before += len(lines[n-1])
		if read += before; read > lineBytesMax {
			break
		}
		var node yaml.Node
		if err := yaml.Unmarshal(text[:before], &node); err != nil && strings.HasSuffix(causeOf(err), cause) {
			return n
		}
	}
	return from
}

// odd reports parts of a document that no configuration has: keys that are no names, and values
// with tags of their own.
func (d *document) odd(n *yaml.Node, wrong *Errors) {
	if n.Style&yaml.TaggedStyle != 0 {
		*wrong = append(*wrong, fmt.Sprintf("%s:%d: a configuration has no values that are tagged %q: leave the tag out, or put quotes round the value", d.file, n.Line, n.Tag))
		return
	}
	for i, x := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && x.Kind != yaml.ScalarNode {
			*wrong = append(*wrong, fmt.Sprintf("%s:%d: a key has to be a name: put quotes round one that begins with a bracket, a brace, * or ?", d.file, x.Line))
			return
		}
		d.odd(x, wrong)
	}
}

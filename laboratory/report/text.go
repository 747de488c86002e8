package report

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text writes the comparison for people, in columns.
func (c *Comparison) Text(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintln(&b, printable(c.about()))
	if c.Origin != nil && c.Origin.Assumed != "" {
		fmt.Fprintf(&b, "assumed cluster: %s\n", printable(c.Origin.Assumed))
	}
	for _, t := range c.tables() {
		fmt.Fprintf(&b, "\n%s\n", printable(t.Title))
		t.text(&b)
		if t.Note != "" {
			fmt.Fprintln(&b, t.Note)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// text writes the table's rows. Numbers are aligned to the right.
func (t *table) text(b *bytes.Buffer) {
	widths := make([]int, len(t.Head))
	rows := append([][]string{t.Head}, t.Rows...)
	for r, row := range rows {
		row = append([]string(nil), row...)
		for i := range row {
			row[i] = printable(row[i])
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		rows[r] = row
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 || !t.numbers(i) {
				line += cell + space + "  "
			} else {
				line += space + cell + "  "
			}
		}
		fmt.Fprintf(b, "  %s\n", strings.TrimRight(line, " "))
	}
}

// numbers reports whether all of a column are numbers.
func (t *table) numbers(column int) bool {
	for _, row := range t.Rows {
		if cell := row[column]; cell != "–" && strings.Trim(cell, "0123456789.−± ") != "" {
			return false
		}
	}
	return true
}

// printableLines is printable for a text of several lines.
func printableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = printable(l)
	}
	return strings.Join(lines, "\n")
}

// printable replaces characters that would move a terminal's cursor or reverse the text.
func printable(s string) string {
	ok := func(r rune) bool { return unicode.IsPrint(r) && r != utf8.RuneError }
	if !strings.ContainsFunc(s, func(r rune) bool { return !ok(r) }) {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

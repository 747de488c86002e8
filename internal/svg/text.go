package svg

import (
	"encoding/xml"
	"strings"
	"unicode"
)

// Text is a line of text for a document's element or attribute: escaped, with a substitute for each
// invisible character and each invalid UTF-8 byte.
func Text(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder never fails
	return b.String()
}

// Cut shortens a text to most characters.
func Cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

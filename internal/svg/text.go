package svg

import (
	"encoding/xml"
	"strings"
	"unicode"
)

// Text is a line of text as it stands in a document, in an element or an attribute: escaped,
// with a sign for each character that cannot be seen and each byte that is no UTF-8.
func Text(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder takes everything
	return b.String()
}

// Cut shortens a text to so many characters.
func Cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

package lint

import (
	"strings"
	"testing"
)

func TestLongSentences(t *testing.T) {
	long := strings.Repeat("word ", SentenceMax)
	for text, want := range map[string]int{
		long + "more.":                   1,
		strings.TrimSpace(long) + ".":    0,
		long + "\nmore. Short.":          1,
		"Short. " + long + "[more](x y)": 1,
		strings.TrimSpace(long) + ".\n\n- " + strings.TrimSpace(long): 0,
		"```\n" + long + "more\n```\n":                                0,
		"| " + long + "more |":                                        0,
		strings.Repeat("word ", SentenceMax-1) + "`a b c`.":           0,
		"e.g. " + long: 1,
	} {
		if got := LongSentences(text); len(got) != want {
			t.Errorf("%q has the long sentences %q, want %d", text, got, want)
		}
	}
}

package certs

import (
	"regexp"
	"strings"
	"testing"
)

// Labels have the documented form, which an expression says as well.
func TestIsLabel(t *testing.T) {
	form := regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$`)
	for _, text := range []string{
		"", "a", "-", "_", "a-", "-a", "a-b", "a--b", "A", "a.b", "a b", "ä", "aäb", "a\n", "a\x00b", "0", "_a_", "9-9",
		strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 62) + "-", "-" + strings.Repeat("a", 61),
	} {
		if got, want := isLabel(text), form.MatchString(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

package schedules

import (
	"regexp"
	"strings"
	"testing"
)

// Names have the documented form, which an expression says as well.
func TestCanName(t *testing.T) {
	form := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	for _, text := range []string{
		"", "a", "Z", "9", ".", "-", "_", "a.", "a-b_c.d", ".a", "-a", "_a", "a b", "a/b", "ä", "aä", "a\n", "\na", "a\x00", "@", "[", "`", "{", "/", ":",
		strings.Repeat("a", 100), strings.Repeat("a", 101),
	} {
		if got, want := canName(text), form.MatchString(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

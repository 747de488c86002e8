package auth

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// GroupMax bounds the bytes of a group's name.
const GroupMax = 128

// CheckGroup returns why a text can't be a group's name, or nil. Groups come from other systems, so
// spaces inside and letters of all scripts are allowed.
func CheckGroup(name string) error {
	if name == "" || len(name) > GroupMax || !utf8.ValidString(name) || strings.TrimSpace(name) != name ||
		strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("a group's name has 1 to %d bytes that can be printed, and no space at its ends", GroupMax)
	}
	return nil
}

// Package suggest finds the name that the writer of a wrong name may have meant.
package suggest

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest is the known word nearest to a word, without regard to case; the first of several. Empty:
// none is near enough to suggest.
func Nearest(word string, known []string) string {
	best, distance := "", len(word)/2+1
	for _, k := range known {
		if n := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(k)); n < distance {
			best, distance = k, n
		}
	}
	return best
}

// Hint is Nearest as the end of a sentence, empty when none is near.
func Hint(word string, known []string) string {
	if best := Nearest(word, known); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}

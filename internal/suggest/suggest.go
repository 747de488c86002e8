// Package suggest finds what somebody may have meant who wrote a name wrong.
package suggest

import "strings"

// Nearest is the one of the known words that is nearest to a word, without regard to case;
// the first of several. Empty: none is near, so to name one would mislead.
func Nearest(word string, known []string) string {
	best, distance := "", len(word)/2+1
	for _, k := range known {
		if n := editDistance(strings.ToLower(word), strings.ToLower(k)); n < distance {
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

// editDistance counts the bytes to put in, take out or change (Levenshtein, 1966).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

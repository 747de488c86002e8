package drawing

import (
	"fmt"
	"strings"
)

// equal is a curve's place among curves that are the same. Of several each is drawn in dashes
// between those of the others, so that all can be seen.
type equal struct{ place, of int }

// equals finds the equal ones of the first LegendMax of n curves.
func equals(n int, same func(a, b int) bool) []equal {
	n = min(n, LegendMax)
	list := make([]equal, n)
	for i := range list {
		for k := range n {
			if k == i || same(i, k) {
				list[i].of++
				if k < i {
					list[i].place++
				}
			}
		}
	}
	return list
}

// dashLength is the length of a dash of equal curves, in pixels.
const dashLength = 8

// dashed is the look of a curve with its dashes.
func (e equal) dashed(colour string) string {
	if e.of < 2 {
		return colour
	}
	class, _, _ := strings.Cut(colour, " stroke-dasharray")
	return fmt.Sprintf(`%s stroke-dasharray="%d %d" stroke-dashoffset="%d"`, class, dashLength, dashLength*(e.of-1), -dashLength*e.place)
}

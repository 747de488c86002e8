package charts

import (
	"bytes"
	"fmt"
	"iter"
)

// point is a place in pixels, from the left and from above.
type point struct{ x, y int }

// sign is a shape of its own, six pixels wide and high at most.
type sign struct {
	path         string // relative, from begins to ends
	begins, ends point  // from its middle
}

// pen draws signs in a row as parts of one path. Moves are relative, which is short.
type pen struct {
	*bytes.Buffer
	sign
	at   point
	down bool // it has drawn a sign
}

// mark draws a sign around a point, and a line from there to the right.
func (p *pen) mark(middle point, to int) {
	begins := point{middle.x + p.begins.x, middle.y + p.begins.y}
	if p.down {
		p.move(begins)
	} else {
		fmt.Fprintf(p, "M%d %d", begins.x, begins.y)
	}
	p.WriteString(p.path)
	p.at, p.down = point{middle.x + p.ends.x, middle.y + p.ends.y}, true
	if to > middle.x {
		p.move(middle)
		fmt.Fprintf(p, "h%d", to-middle.x)
		p.at = point{to, middle.y}
	}
}

func (p *pen) move(to point) {
	between := " "
	if to.y < p.at.y {
		between = "" // the minus parts them
	}
	fmt.Fprintf(p, "m%d%s%d", to.x-p.at.x, between, to.y-p.at.y)
}

// marked lists the columns with a count, neighbours as one link from the first to the last.
func marked(counts []int) iter.Seq[link] {
	return func(yield func(link) bool) {
		for c := 0; c < len(counts); c++ {
			if counts[c] == 0 {
				continue
			}
			first := c
			for c+1 < len(counts) && counts[c+1] > 0 {
				c++
			}
			if !yield(link{first, c}) {
				return
			}
		}
	}
}

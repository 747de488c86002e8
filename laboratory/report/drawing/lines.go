package drawing

import (
	"cmp"
	"fmt"
	"slices"
)

// Lines are measures that depend on something, each point joined to the next.
type Lines struct {
	Title string
	// X is what they depend on, and Y what is measured, with their units. Both axes begin at 0.
	X, Y string
	// Lines are at most LegendMax; those beyond are left out, and the legend says so.
	Lines []Points
}

// Points are a line's. They are drawn from left to right.
type Points struct {
	Name string
	At   []Point
}

// Point is one; what is below 0 is drawn as 0.
type Point struct{ X, Y float64 }

// SVG draws them.
func (l *Lines) SVG() []byte {
	x, y := 0.0, 0.0
	for _, line := range l.Lines {
		for _, p := range line.At {
			x, y = max(x, p.X), max(y, p.Y)
		}
	}
	f := newFrame(l.Title, linear(l.X, x, 10), linear(l.Y, y, 8), usual)
	f.axes()
	var names []string
	for i, line := range l.Lines {
		names = append(names, line.Name)
		if i < LegendMax {
			f.line(line.At, colour(i))
		}
	}
	f.legend(names, colour)
	return f.end()
}

func (f *frame) line(points []Point, colour string) {
	points = slices.SortedStableFunc(slices.Values(points), func(a, b Point) int { return cmp.Compare(a.X, b.X) })
	if len(points) == 0 {
		return
	}
	fmt.Fprintf(f, `<path %s d="`, colour)
	for i, p := range points {
		fmt.Fprintf(f, "%c%.1f %.1f", "ML"[min(i, 1)], f.px(p.X), f.py(p.Y))
	}
	f.WriteString(`"/>` + "\n")
	for _, p := range points {
		fmt.Fprintf(f, `<path %s d="M%.1f %.1fh6m-3 -3v6"/>`+"\n", colour, f.px(p.X)-3, f.py(p.Y))
	}
}

package drawing

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/internal/svg"
)

// Lines are measures as functions of a value, each point joined to the next.
type Lines struct {
	Title string
	// X is the value, and Y the measure, with their units. Both axes begin at 0.
	X, Y string
	// Log makes both axes logarithmic, between the least and the largest value above 0: power laws
	// are straight lines.
	Log bool
	// Lines are at most LegendMax; further ones are left out, and the legend says so.
	Lines []Points
}

// Points are a line's. They are drawn from left to right.
type Points struct {
	Name string
	At   []Point
}

// Point is a point; negative values are drawn as 0.
type Point struct{ X, Y float64 }

// SVG draws them.
func (l *Lines) SVG() []byte {
	x, y := svg.Linear(l.X, l.most(Point.x), 10), svg.Linear(l.Y, l.most(Point.y), 8)
	if l.Log {
		x, y = svg.Logarithmic(l.X, l.least(Point.x), l.most(Point.x)), svg.Logarithmic(l.Y, l.least(Point.y), l.most(Point.y))
	}
	f := newFrame(l.Title, x, y, usual)
	f.axes()
	var names []string
	same := equals(len(l.Lines), func(a, b int) bool { return slices.Equal(l.Lines[a].At, l.Lines[b].At) })
	for i, line := range l.Lines {
		names = append(names, line.Name)
		if i < LegendMax {
			f.line(line.At, same[i].dashed(colour(i)), colour(i))
		}
	}
	f.legend(names, colour)
	return f.end()
}

func (p Point) x() float64 { return p.X }
func (p Point) y() float64 { return p.Y }

// most is the largest coordinate of all points; 0 when none is above that.
func (l *Lines) most(way func(Point) float64) (most float64) {
	for _, line := range l.Lines {
		for _, p := range line.At {
			most = max(most, way(p))
		}
	}
	return most
}

// least is the least above 0; 1 when none is.
func (l *Lines) least(way func(Point) float64) float64 {
	least := l.most(way)
	for _, line := range l.Lines {
		for _, p := range line.At {
			if v := way(p); v > 0 {
				least = min(least, v)
			}
		}
	}
	if least == 0 {
		return 1
	}
	return least
}

// line draws the line in one look, and its points in another.
func (f *frame) line(points []Point, look, colour string) {
	points = slices.SortedStableFunc(slices.Values(points), func(a, b Point) int { return cmp.Compare(a.X, b.X) })
	if len(points) == 0 {
		return
	}
	fmt.Fprintf(f, `<path %s d="`, look)
	for i, p := range points {
		fmt.Fprintf(f, "%c%.1f %.1f", "ML"[min(i, 1)], f.px(p.X), f.py(p.Y))
	}
	f.WriteString(`"/>` + "\n")
	for _, p := range points {
		fmt.Fprintf(f, `<path %s d="M%.1f %.1fh6m-3 -3v6"/>`+"\n", colour, f.px(p.X)-3, f.py(p.Y))
	}
}

package timeline

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"time"
)

// Measures of a chart, in pixels.
const (
	chartWidth  = 860
	chartHeight = 420
	left        = 60  // of the drawing
	right       = 760 // the legend stands behind it
	top         = 50
	bottom      = 360
)

// colours of the parties, from below, far apart also for the colour-blind.
var colours = []string{"#4477aa", "#ccbb44", "#ee6677", "#228833", "#66ccee", "#aa3377"}

// Mark is a moment to be drawn with a dashed line.
type Mark struct {
	At   time.Duration
	Text string
}

// Chart draws the slots of all parties on top of each other as an SVG picture.
// slots is the height of the drawing.
func (l Line) Chart(w io.Writer, title string, slots int, marks ...Mark) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="13">`+"\n", chartWidth, chartHeight)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/><text x="%d" y="28" font-size="16">%s</text>`+"\n", left, html.EscapeString(title))
	c := canvas{&b, max(l.End(), 1), max(slots, 1)}
	base := make([]int, len(l.Steps))
	for p, name := range l.Parties {
		colour := colours[p%len(colours)]
		c.layer(l.Steps, base, p, colour)
		y := top + 22*(len(l.Parties)-1-p)
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="14" height="14" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n", right+16, y, colour, right+36, y+12, html.EscapeString(name))
	}
	c.axes()
	for _, m := range marks {
		x := c.x(m.At)
		fmt.Fprintf(&b, `<path d="M%.1f %d V%d" stroke="black" stroke-dasharray="4 3"/><text x="%.1f" y="%d">%s</text>`+"\n", x, top-6, bottom, x+4, top-8, html.EscapeString(m.Text))
	}
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

type canvas struct {
	b     *bytes.Buffer
	end   time.Duration
	slots int
}

func (c canvas) x(t time.Duration) float64 {
	return left + (right-left)*float64(t)/float64(c.end)
}

func (c canvas) y(n int) float64 { return bottom - (bottom-top)*float64(n)/float64(c.slots) }

// layer draws one party on top of base, and adds it to base.
func (c canvas) layer(steps []Step, base []int, party int, colour string) {
	fmt.Fprintf(c.b, `<g fill="%s" shape-rendering="crispEdges">`, colour)
	for i, s := range steps[:max(len(steps)-1, 0)] {
		if n := s.Counts[party]; n > 0 {
			x, y := c.x(s.At), c.y(base[i]+n)
			fmt.Fprintf(c.b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, x, y, c.x(steps[i+1].At)-x, c.y(base[i])-y)
			base[i] += n
		}
	}
	c.b.WriteString("</g>\n")
}

func (c canvas) axes() {
	fmt.Fprintf(c.b, `<path d="M%d %d V%d H%d" fill="none" stroke="black"/>`+"\n", left, top, bottom, right)
	for n := range c.slots + 1 {
		fmt.Fprintf(c.b, `<text x="%d" y="%.1f" text-anchor="end">%d</text>`+"\n", left-8, c.y(n)+4, n)
	}
	every := tick(c.end)
	for t := time.Duration(0); t <= c.end; t += every {
		fmt.Fprintf(c.b, `<text x="%.1f" y="%d" text-anchor="middle">%.4g</text>`+"\n", c.x(t), bottom+18, t.Seconds())
	}
	fmt.Fprintf(c.b, `<text x="%d" y="%d" text-anchor="middle">seconds</text>`+"\n", (left+right)/2, bottom+40)
	fmt.Fprintf(c.b, `<text transform="translate(20 %d) rotate(-90)" text-anchor="middle">slots</text>`+"\n", (top+bottom)/2)
}

// tick is the interval of the time axis: 1, 2 or 5 of some power of ten, at most
// twelve of them.
func tick(end time.Duration) time.Duration {
	for unit := time.Millisecond; ; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if end/(unit*n) <= 12 {
				return unit * n
			}
		}
	}
}

package drawing

import (
	"cmp"
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/internal/svg"
)

// Gantt is a chart of parties on lanes over time.
type Gantt struct {
	Title string
	// Y is the name of the lanes, default launchers.
	Y string
	// Lanes are from top to bottom. Neighbours of the same name have one label.
	Lanes []string
	// Parties have the colours.
	Parties []string
	Bars    []Bar
	// Note stands below the legend, in lines.
	Note []string
}

// Bar is a party's time on a lane. A pale bar did not finish there.
type Bar struct {
	Lane, Party int
	From, To    time.Duration
	Pale        bool
	// Text is shown where the pointer rests.
	Text string
}

// SVG draws it.
func (g *Gantt) SVG() []byte {
	end := time.Duration(0)
	for i := range g.Bars {
		end = max(end, g.Bars[i].To)
	}
	lane := max(8, min(24, usual/max(len(g.Lanes), 1)))
	f := newFrame(g.Title, svg.Times("time", end), svg.Axis{Title: cmp.Or(g.Y, "launchers"), From: 0, To: float64(max(len(g.Lanes), 1))}, max(lane*len(g.Lanes), usual))
	f.axes()
	high := float64(f.height) / float64(max(len(g.Lanes), 1))
	y := func(lane int) float64 { return top + high*float64(lane) }
	written := -1e9
	for i, name := range g.Lanes {
		if i > 0 && g.Lanes[i-1] == name {
			continue
		}
		fmt.Fprintf(f, `<path class="d-grid" d="M%d %.1f H%d"/>`, left, y(i), right)
		if at := y(i) + high/2 + 4; at-written >= 11 {
			written = at
			f.words(left-6, at, "end", svg.Cut(name, laneMax), `font-size="11"`)
		}
	}
	for i := range g.Bars {
		b := &g.Bars[i]
		x, pale := f.px(b.From.Seconds()), ""
		if b.Pale {
			pale = " d-pale"
		}
		fmt.Fprintf(f, `<rect class="d-f%d%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>`+"\n",
			b.Party%colours, pale, x, y(b.Lane)+.5, max(f.px(b.To.Seconds())-x-.3, .5), high-1, svg.Text(b.Text))
	}
	f.legend(g.Parties, block)
	for i, line := range g.Note {
		f.words(right+12, float64(top+20*(min(len(g.Parties), LegendMax+1)+1+i)), "start", line, `font-size="11"`)
	}
	return f.end()
}

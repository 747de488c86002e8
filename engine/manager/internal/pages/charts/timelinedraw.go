package charts

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/internal/svg"
)

// Measures of a timeline's drawing, in pixels.
const (
	laneLeft    = 190
	laneWidth   = 800
	runHeight   = 16 // of the running attempts
	rowHeight   = 8  // of an outcome
	laneGap     = 6
	laneColumns = 24 // characters of a lane's name
	legendStep  = 130
	axisHeight  = 20
)

// timeline is a timeline being drawn.
type timeline struct {
	bytes.Buffer
	buckets, join int // join buckets are a column
	lanes         []lane
	all           int // lanes, including those not drawn
	from          time.Time
	long          time.Duration
	most          float64 // attempts at once in a lane
	busiest       string
	ends          [len(outcomes)]int
	rows          []int // existing outcomes
}

// draw draws it.
func (d *timeline) draw() string {
	notes := d.notes()
	top := margin + lineHeight*(len(notes)+1) + axisHeight
	step := runHeight + rowHeight*len(d.rows) + laneGap
	bottom := top + step*len(d.lanes)
	width, height := laneLeft+laneWidth+5*margin, bottom+2*axisHeight+margin
	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" class="draw" role="img" aria-label="%s" width="%d" height="%d" viewBox="0 0 %[2]d %[3]d">`+"\n", svg.Text(d.spoken()), width, height)
	for i, n := range notes {
		fmt.Fprintf(d, `<text x="%d" y="%d">%s</text>`+"\n", margin, margin+12+lineHeight*(i+1), svg.Text(n))
	}
	d.legend()
	drawAxis(&d.Buffer, d.from, d.long, laneLeft, laneWidth, top, bottom)
	fmt.Fprintf(d, `<g transform="translate(%d %d)" text-anchor="end">`+"\n", laneLeft, top)
	for i := range d.lanes {
		d.drawLane(&d.lanes[i], step*i)
	}
	for row, o := range d.rows {
		d.drawEnds(o, step, runHeight+rowHeight*row+rowHeight/2)
	}
	d.WriteString("</g>\n</svg>\n")
	return d.String()
}

// drawEnds draws the signs of an outcome in all lanes as one shape: lanes are a step apart, and
// each has the outcome's row so far down.
func (d *timeline) drawEnds(outcome, step, down int) {
	fmt.Fprintf(d, `<path class="draw-%s" d="`, outcomes[outcome].name)
	for i := range d.lanes {
		p := pen{Buffer: &d.Buffer, sign: outcomes[outcome].sign}
		for at := range marked(d.lanes[i].ended[outcome]) {
			p.mark(point{d.middle(at.from), step*i + down}, d.middle(at.to))
		}
	}
	fmt.Fprintf(d, `"><title>%s</title></path>`+"\n", outcomes[outcome].name)
}

// notes list what is joined and left out.
func (d *timeline) notes() (lines []string) {
	if len(d.lanes) < d.all {
		lines = append(lines, fmt.Sprintf("%d of %s shown, those in which most ran", len(d.lanes), counted(d.all, "lane")))
	}
	if d.join > 1 {
		lines = append(lines, fmt.Sprintf("Each step is the mean of %s of %s", counted(d.join, "bucket"), length(d.long.Seconds()/float64(d.buckets))))
	}
	if d.all == 0 {
		lines = append(lines, "Nothing has run")
	}
	return lines
}

// ended lists how many ended how.
func ended(ends []int) string {
	var list []string
	for o, n := range ends {
		list = append(list, some(n, outcomes[o].name))
	}
	return listed(list...)
}

// spoken is the drawing in words.
func (d *timeline) spoken() string {
	s := []string{fmt.Sprintf("Timeline of %s from %s: %s", length(d.long.Seconds()), clock(d.from), counted(len(d.lanes), "lane"))}
	s = append(s, d.notes()...)
	if d.most > 0 {
		s = append(s, fmt.Sprintf("At most %s attempts ran at once in a lane. Most ran in %s", rounded(d.most), name(d.busiest, shortMax)))
	}
	if all := ended(d.ends[:]); all != "" {
		s = append(s, "Ended: "+all)
	}
	var failed []string
	for _, l := range d.lanes {
		if n := l.ends[0]; n > 0 {
			failed = append(failed, fmt.Sprintf("%s %d", name(l.name, shortMax), n))
		}
	}
	if len(failed) > 0 {
		s = append(s, "Failed in "+few(failed, ", "))
	}
	return strings.Join(s, ". ") + "."
}

// legend explains the signs.
func (d *timeline) legend() {
	y := margin + 12
	fmt.Fprintf(d, `<path class="draw-run" d="M%d %dv-4h8v-5h8v9z"/><text x="%d" y="%d">running, %s at most</text>`+"\n", margin, y, margin+22, y, rounded(d.most))
	for i, o := range d.rows {
		x := laneLeft + 60 + legendStep*i
		fmt.Fprintf(d, `<path class="draw-%s" d="`, outcomes[o].name)
		p := pen{Buffer: &d.Buffer, sign: outcomes[o].sign}
		p.mark(point{x, y - 4}, x)
		fmt.Fprintf(d, `"/><text x="%d" y="%d">%s %d</text>`+"\n", x+8, y, outcomes[o].name, d.ends[o])
	}
}

// drawAxis draws the time, above and below.
func drawAxis(d *bytes.Buffer, from time.Time, long time.Duration, left, width, top, bottom int) {
	a := svg.Times("time since "+clock(from), long)
	for _, t := range a.Ticks {
		x := left + int(math.Round(float64(width)*a.Part(t.At)))
		fmt.Fprintf(d, `<path class="draw-grid" d="M%d %dV%d"/><g text-anchor="middle"><text x="%[1]d" y="%[4]d">%[5]s</text><text x="%[1]d" y="%[6]d">%[5]s</text></g>`+"\n", x, top-4, bottom, top-8, svg.Text(t.Label), bottom+14)
	}
	fmt.Fprintf(d, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", left+width/2, bottom+14+lineHeight, svg.Text(a.Title))
}

// at is where a column begins.
func (d *timeline) at(column int) int {
	return int(int64(laneWidth) * int64(min(column*d.join, d.buckets)) / int64(d.buckets))
}

// drawLane draws a lane, so far down.
func (d *timeline) drawLane(l *lane, y int) {
	words := fmt.Sprintf("%s: %s running on average", name(l.name, shortMax), rounded(l.mean))
	if all := ended(l.ends); all != "" {
		words += "; ended: " + all
	}
	fmt.Fprintf(d, `<g><title>%s</title><text x="-8" y="%d">%s</text>`, svg.Text(words), y+13, svg.Text(fitted(l.name, laneColumns)))
	if l.mean > 0 {
		d.WriteString(`<path class="draw-run" d="`)
		d.ran(l.running, y+runHeight)
		d.WriteString(`"/>`)
	}
	d.WriteString("</g>\n")
}

// ran draws heights above a line as closed shapes; neighbours of the same height are one step.
func (d *timeline) ran(running []float64, line int) {
	last := 0
	for c := 0; c < len(running); {
		high, end := d.high(running[c]), c+1
		for end < len(running) && d.high(running[end]) == high {
			end++
		}
		if high > 0 {
			if last == 0 {
				d.shape('M', d.at(c), ' ', line)
			}
			d.shape('v', last-high, 'h', d.at(end)-d.at(c))
		}
		if last = high; end == len(running) || d.high(running[end]) == 0 {
			if high > 0 {
				fmt.Fprintf(d, "v%dz", high)
			}
			last = 0
		}
		c = end
	}
}

// shape draws two commands of a path, each with a number.
func (d *timeline) shape(first byte, a int, second byte, b int) {
	text := strconv.AppendInt(append(d.AvailableBuffer(), first), int64(a), 10)
	d.Write(strconv.AppendInt(append(text, second), int64(b), 10))
}

// high is the height of the running attempts, in pixels: any value above zero is visible.
func (d *timeline) high(running float64) int {
	if running <= 0 {
		return 0
	}
	return max(1, int(math.Round(runHeight*running/d.most)))
}

func (d *timeline) middle(column int) int { return (d.at(column) + d.at(column+1)) / 2 }

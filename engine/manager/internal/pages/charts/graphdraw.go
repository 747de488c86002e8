package charts

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/internal/svg"
)

// Measures of a graph's drawing, in pixels.
const (
	margin     = 10
	lineHeight = 18
	boxWidth   = 160
	boxHeight  = 46
	boxGap     = 14 // to the next below
	bendHeight = 10
	columnStep = boxWidth + 72
	barWidth   = boxWidth - 16
	// boxColumns is how many characters of a name a box takes.
	boxColumns = 19
)

// linkMax bounds the address of a box's link, in bytes. A stage with a longer name has no link.
const linkMax = 4096

// spokenMax is how many stages with failures, and how many connections, the label lists one by one.
const spokenMax = 20

// graphDrawing is a graph being drawn.
type graphDrawing struct {
	bytes.Buffer
	*boxes
	grid   *grid
	bends  [][]int // by tie: its items between its ends
	middle []int   // by item, boxes first
	top    int
}

// draw draws them.
func (b *boxes) draw() string {
	d := &graphDrawing{boxes: b}
	notes := b.notes()
	kinds := b.kinds()
	d.top = margin + lineHeight*len(notes)
	if len(kinds) > 0 {
		d.top += lineHeight
	}
	d.layOut()
	width, height := margin*2+max(b.columns*columnStep-columnStep+boxWidth, 560), d.top+margin
	for i, m := range d.middle {
		height = max(height, d.top+m+d.height(i)/2+margin)
	}
	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" class="draw" role="group" aria-label="Stages, each a link" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d">`+"\n", width, height)
	for i, n := range notes {
		fmt.Fprintf(d, `<text x="%d" y="%d">%s</text>`+"\n", margin, margin+12+lineHeight*i, svg.Text(n))
	}
	fmt.Fprintf(d, `<g role="img" aria-label="%s">`+"\n", svg.Text(b.spoken()))
	d.legend(kinds)
	d.drawTies()
	d.WriteString("</g>\n")
	for i := range b.boxes {
		d.drawBox(i)
	}
	d.WriteString("</svg>\n")
	return d.String()
}

// notes list what is not drawn.
func (b *boxes) notes() (lines []string) {
	switch {
	case b.stages == 0:
		lines = append(lines, "No stages")
	case b.shown < b.stages:
		lines = append(lines, fmt.Sprintf("%d of %s shown, those with failures first, then those that run", b.shown, counted(b.stages, "stage")))
	}
	if b.shownTies < b.connections {
		lines = append(lines, fmt.Sprintf("%d of %s shown, the shortest first", b.shownTies, counted(b.connections, "connection")))
	}
	return lines
}

// kinds lists the classes of the drawn lines.
func (b *boxes) kinds() (list []string) {
	for _, t := range b.ties {
		if k := t.kind(); !slices.Contains(list, k) {
			list = append(list, k)
		}
	}
	slices.Sort(list)
	return list
}

// kind is the class of a line: each kind of channel has its dashes.
func (t tie) kind() string {
	switch t.channel {
	case "file", "tcp", "shm":
		return t.channel
	}
	return "unknown"
}

// words says which boxes a tie joins.
func (b *boxes) words(t tie) string {
	s := fmt.Sprintf("%s -> %s: %s, %s", name(b.boxes[t.from].name, shortMax), name(b.boxes[t.to].name, shortMax), name(t.channel, shortMax), name(t.pattern, shortMax))
	if t.stands > 1 {
		s += ", " + counted(t.stands, "connection")
	}
	return s
}

// spoken is the drawing in words.
func (b *boxes) spoken() string {
	all := stage{}
	var failed, joined []string
	for i := range b.boxes {
		x := &b.boxes[i]
		all.add(x.stage)
		if x.failures > 0 {
			failed = append(failed, name(x.name, shortMax))
		}
	}
	for _, t := range b.ties {
		joined = append(joined, b.words(t))
	}
	sentences := append([]string{fmt.Sprintf("%s in %s from left to right: %s", counted(b.stages, "stage"), counted(b.layers, "layer"), all.progress())}, b.notes()...)
	if len(failed) > 0 {
		sentences = append(sentences, "Failures in "+few(failed, ", "))
	}
	if len(joined) > 0 {
		sentences = append(sentences, "Connections: "+few(joined, "; "))
	}
	return strings.Join(sentences, ". ") + "."
}

// few lists the first items, and how many more there are.
func few(list []string, between string) string {
	if n := len(list); n > spokenMax {
		list = append(slices.Clone(list[:spokenMax]), fmt.Sprintf("and %d more", n-spokenMax))
	}
	return strings.Join(list, between)
}

// layOut finds each item's place. A tie has a bend, an item of its own, in each column that it
// crosses, so that it avoids the boxes there.
func (d *graphDrawing) layOut() {
	columns, links := make([][]int, d.columns), []link{}
	for i := range d.boxes.boxes {
		c := d.boxes.boxes[i].column
		columns[c] = append(columns[c], i)
	}
	items := len(d.boxes.boxes)
	for _, t := range d.ties {
		at, bends := t.from, []int{}
		for c := d.boxes.boxes[t.from].column + 1; c < d.boxes.boxes[t.to].column; c++ {
			columns[c] = append(columns[c], items)
			links, bends = append(links, link{at, items}), append(bends, items)
			at = items
			items++
		}
		links, d.bends = append(links, link{at, t.to}), append(d.bends, bends)
	}
	d.grid = newGrid(columns, links)
	d.grid.order()
	heights := make([]int, items)
	for i := range heights {
		heights[i] = d.height(i)
	}
	d.middle = d.grid.heights(heights)
}

// height is the room that an item takes.
func (d *graphDrawing) height(item int) int {
	if item < len(d.boxes.boxes) {
		return boxHeight + boxGap
	}
	return bendHeight
}

func (d *graphDrawing) legend(kinds []string) {
	for i, k := range kinds {
		x, y := margin+100*i, d.top-lineHeight/2
		fmt.Fprintf(d, `<path class="draw-%s" d="M%d %dh28"/><text x="%d" y="%d">%s</text>`+"\n", k, x, y, x+34, y+4, k)
	}
}

// drawTies draws the lines, each from its box's right side to the other's left one. If many leave
// or reach a box, each has its place, in the order of their other ends.
func (d *graphDrawing) drawTies() {
	from := d.ports(func(i int) (int, int) { return d.ties[i].from, d.next(i) })
	to := d.ports(func(i int) (int, int) { return d.ties[i].to, d.last(i) })
	for i, t := range d.ties {
		y := d.top + from[i]
		fmt.Fprintf(d, `<path class="draw-%s" d="M%d %d`, t.kind(), margin+d.boxes.boxes[t.from].column*columnStep+boxWidth, y)
		for _, bend := range d.bends[i] {
			d.curve(d.top + d.middle[bend] - y)
			fmt.Fprintf(d, "h%d", boxWidth)
			y = d.top + d.middle[bend]
		}
		d.curve(d.top + to[i] - y)
		fmt.Fprintf(d, `"><title>%s</title></path>`+"\n", svg.Text(d.words(t)))
	}
}

// curve goes from a column to the next, and so far down.
func (d *graphDrawing) curve(down int) {
	const gap = columnStep - boxWidth
	if down == 0 {
		fmt.Fprintf(d, "h%d", gap)
		return
	}
	fmt.Fprintf(d, "c%d 0 %[1]d %d %d %[2]d", gap/2, down, gap)
}

// next is the item after a tie's box, last the item before its other box.
func (d *graphDrawing) next(i int) int { return append(slices.Clone(d.bends[i]), d.ties[i].to)[0] }

func (d *graphDrawing) last(i int) int {
	all := append([]int{d.ties[i].from}, d.bends[i]...)
	return all[len(all)-1]
}

// ports returns at what height each tie meets its box on a side. ends returns a tie's box and the
// item at its next end.
func (d *graphDrawing) ports(ends func(tie int) (box, other int)) []int {
	of := make([][]int, len(d.boxes.boxes))
	for i := range d.ties {
		b, _ := ends(i)
		of[b] = append(of[b], i)
	}
	height := make([]int, len(d.ties))
	for b, ties := range of {
		slices.SortStableFunc(ties, func(x, y int) int {
			_, a := ends(x)
			_, b := ends(y)
			return cmp.Compare(d.middle[a], d.middle[b])
		})
		for k, i := range ties {
			height[i] = d.middle[b] - boxHeight/2 + boxHeight*(k+1)/(len(ties)+1)
		}
	}
	return height
}

// drawBox draws a box; the box of a single stage is a link.
func (d *graphDrawing) drawBox(i int) {
	b := &d.boxes.boxes[i]
	open, end := `<g`, "</g>"
	if b.more {
		open = `<g class="draw-more"`
	} else if to := url.QueryEscape(b.name); len(to) <= linkMax {
		open, end = `<a href="?stage=`+to+`"`, "</a>"
	}
	fmt.Fprintf(d, `%s transform="translate(%d %d)"><title>%s</title><rect class="draw-box" width="%d" height="%d" rx="4"/>`,
		open, margin+b.column*columnStep, d.top+d.middle[i]-boxHeight/2, svg.Text(name(b.name, titleMax)+": "+b.progress()), boxWidth, boxHeight)
	fmt.Fprintf(d, `<text x="8" y="16">%s</text><text x="8" y="31">%d/%d</text>`, svg.Text(fitted(b.name, boxColumns)), b.finished, b.nodes)
	fmt.Fprintf(d, `<rect class="draw-all" x="8" y="36" width="%d" height="5"/>`, barWidth)
	if b.finished > 0 {
		fmt.Fprintf(d, `<rect class="draw-done" x="8" y="36" width="%d" height="5"/>`, max(1, int(float64(barWidth)*float64(b.finished)/float64(b.nodes))))
	}
	if b.failures > 0 {
		fmt.Fprintf(d, `<path class="draw-fault" d="M%d 22l8 8m0-8l-8 8"/>`, boxWidth-18)
	}
	d.WriteString(end + "\n")
}

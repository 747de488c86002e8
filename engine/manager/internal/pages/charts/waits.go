package charts

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/internal/svg"
)

// Bounds and measures of a drawing of why a job waited.
const (
	// WaitRowsMax is how many reasons have a row and a colour of their own: those that lasted
	// longest. The others share one.
	WaitRowsMax = 8
	// waitColumns is the resolution of time: a reason that returned in the same column or the next
	// is one piece, so a row has half as many pieces at most.
	waitColumns = 200
	waitColumn  = 4 // pixels
	waitLeft    = 2 * margin
	waitStep    = 36 // from row to row
	waitBar     = 12
	reasonMax   = 90 // characters of a row's name
)

// waitRow is the row of a reason; rows are in the order of the reasons' first times.
type waitRow struct {
	reason string
	class  string
	times  int
	long   time.Duration
	pieces []waitPiece
}

// waitPiece is a time in which a reason applied, maybe with gaps that are too short to be seen.
type waitPiece struct {
	first    int // of its reasons, as they are listed
	times    int
	from, to time.Time
	long     time.Duration
	at, end  int // columns
}

// Waits draws why a job waited: a row for each reason, with a bar while it applied. Each bar is a
// link to #why-N, N being the place of the first of its reasons in the list, from 1. It is empty if
// the job never waited.
func Waits(l *restapi.ReasonList, from, to time.Time) template.HTML {
	if l == nil || len(l.Reasons) == 0 {
		return ""
	}
	w := waits{from: from, long: max(to.Sub(from), 1)}
	for i, r := range l.Reasons {
		w.add(i, r, to)
	}
	w.join()
	return template.HTML(w.draw())
}

type waits struct {
	bytes.Buffer
	from time.Time
	long time.Duration
	rows []*waitRow
}

// add adds a reason to its row.
func (w *waits) add(i int, r restapi.Reason, now time.Time) {
	to := now
	if r.To != nil {
		to = *r.To
	}
	at := slices.IndexFunc(w.rows, func(row *waitRow) bool { return row.reason == r.Reason })
	if at < 0 {
		at, w.rows = len(w.rows), append(w.rows, &waitRow{reason: r.Reason})
	}
	p := waitPiece{first: i, times: 1, from: r.From, to: to, long: max(to.Sub(r.From), 0), at: w.column(r.From), end: w.column(to) + 1}
	w.rows[at].add(p)
}

// column is the column of a time, from 0 on.
func (w *waits) column(t time.Time) int {
	part := min(max(float64(t.Sub(w.from))/float64(w.long), 0), 1)
	return min(int(part*waitColumns), waitColumns-1)
}

// add appends a piece, or extends the last one.
func (r *waitRow) add(p waitPiece) {
	r.times, r.long = r.times+p.times, r.long+p.long
	if n := len(r.pieces); n > 0 && p.at <= r.pieces[n-1].end {
		last := &r.pieces[n-1]
		last.times, last.long, last.end = last.times+p.times, last.long+p.long, max(last.end, p.end)
		if p.to.After(last.to) {
			last.to = p.to
		}
		return
	}
	r.pieces = append(r.pieces, p)
}

// join joins the rows that lasted shortest, and gives each its colour.
func (w *waits) join() {
	if len(w.rows) > WaitRowsMax {
		longest := slices.SortedStableFunc(slices.Values(w.rows), func(a, b *waitRow) int { return cmp.Compare(b.long, a.long) })
		other := &waitRow{reason: counted(len(w.rows)-WaitRowsMax, "other reason")}
		var pieces []waitPiece
		for _, r := range longest[WaitRowsMax:] {
			pieces = append(pieces, r.pieces...)
		}
		slices.SortStableFunc(pieces, func(a, b waitPiece) int { return a.from.Compare(b.from) })
		for _, p := range pieces {
			other.add(p)
		}
		w.rows = append(slices.DeleteFunc(w.rows, func(r *waitRow) bool { return slices.Contains(longest[WaitRowsMax:], r) }), other)
	}
	for i, r := range w.rows {
		if r.class = "draw-why" + string(rune('a'+i)); i == WaitRowsMax {
			r.class = "draw-whyrest"
		}
	}
}

func (w *waits) draw() string {
	top := margin + axisHeight
	bottom := top + waitStep*len(w.rows)
	width, height := waitLeft+waitColumns*waitColumn+5*margin, bottom+2*axisHeight+margin
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" class="draw" role="group" aria-label="%s" width="%d" height="%d" viewBox="0 0 %[2]d %[3]d">`+"\n", svg.Text(w.spoken()), width, height)
	drawAxis(&w.Buffer, w.from, w.long, waitLeft, waitColumns*waitColumn, top, bottom)
	for i, r := range w.rows {
		y := top + waitStep*i
		words := fmt.Sprintf("%s: %s in all", name(r.reason, reasonMax), length(r.long.Seconds()))
		if r.times > 1 {
			words += fmt.Sprintf(", %d times", r.times)
		}
		fmt.Fprintf(w, `<text x="%d" y="%d">%s</text>`+"\n", waitLeft, y+13, svg.Text(words))
		for _, p := range r.pieces {
			w.piece(r, &p, y+18)
		}
	}
	w.WriteString("</svg>\n")
	return w.String()
}

// piece draws a piece, with its meaning in words.
func (w *waits) piece(r *waitRow, p *waitPiece, y int) {
	words := fmt.Sprintf("%s: from %s to %s", name(r.reason, reasonMax), clock(p.from), clock(p.to))
	if p.times > 1 {
		words += fmt.Sprintf(", %d times, %s in all", p.times, length(p.long.Seconds()))
	} else {
		words += ", " + length(p.long.Seconds())
	}
	fmt.Fprintf(w, `<a href="#why-%d"><title>%s</title><rect class="%s" x="%d" y="%d" width="%d" height="%d"/></a>`+"\n",
		p.first+1, svg.Text(words), r.class, waitLeft+waitColumn*p.at, y, waitColumn*(p.end-p.at), waitBar)
}

// spoken is the drawing in words.
func (w *waits) spoken() string {
	s := fmt.Sprintf("Why it waited, in %s from %s", length(w.long.Seconds()), clock(w.from))
	for _, r := range w.rows {
		s += fmt.Sprintf(". %s: %s", name(r.reason, reasonMax), length(r.long.Seconds()))
	}
	return s + ". Each bar is a link to its line in the table."
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

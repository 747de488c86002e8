package charts

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/internal/svg"
)

// barsMax bounds the bars of a histogram. If there are more buckets, neighbours are joined.
const barsMax = 64

// Measures of a histogram's drawing, in pixels.
const (
	plotLeft   = 70
	plotWidth  = 720
	plotTop    = margin + 4*lineHeight
	plotHeight = 200
)

// bar is a bar of a histogram: so many attempts ran for so many seconds.
type bar struct {
	from, to float64
	count    int
}

// Histogram draws the durations of a stage's finished attempts: bars over a logarithmic axis, and
// lines below which half, 90 and 99 percent are.
func Histogram(d restapi.Distribution) template.HTML {
	return template.HTML(histogramOf(d).draw())
}

func histogramOf(d restapi.Distribution) *histogramDrawing {
	h := &histogramDrawing{stage: d.Stage, bars: bars(d.Histogram), quantiles: d.Running}
	if len(h.bars) > 0 {
		low, high := seconds(d.Running.P50), seconds(d.Running.P99)
		for _, b := range h.bars {
			low, high, h.most = min(low, b.from), max(high, b.to), max(h.most, b.count)
		}
		h.x, h.y = svg.Logarithmic("running time", low, high), svg.Linear("attempts", float64(h.most), 5)
	}
	return h
}

// bars are the non-empty buckets, in order. While there are too many, neighbours are joined: those
// of two sixteenths of an octave, then of four, and so on, whatever is empty between them.
func bars(buckets []restapi.Bucket) (list []bar) {
	for octave := 16.0; ; octave /= 2 {
		list = list[:0]
		last := math.Inf(-1)
		for _, b := range slices.SortedStableFunc(slices.Values(buckets), func(a, b restapi.Bucket) int { return cmp.Compare(seconds(a.From), seconds(b.From)) }) {
			if b.Count <= 0 {
				continue
			}
			part := partOf(seconds(b.From), octave)
			if part != last {
				list = append(list, bar{from: seconds(b.From)})
			}
			last = part
			at := &list[len(list)-1]
			at.to, at.count = max(at.to, seconds(b.To), at.from), at.count+b.Count
		}
		if len(list) <= barsMax {
			return list
		}
	}
}

// partOf is the part of an octave for a time, counted from a nanosecond on. Less than a part in an
// octave is several octaves in one.
func partOf(seconds, parts float64) float64 {
	fraction, octave := math.Frexp(seconds * 1e9 * (1 + 1e-6)) // times are rounded to 24 bits
	return math.Floor((float64(octave) + 2*fraction - 1) * parts)
}

// seconds limits a time to the range of the logarithmic axis: from a nanosecond to 30,000 years.
func seconds(v float32) float64 {
	if v := float64(v); v >= 1e-9 {
		return min(v, 1e12)
	}
	return 1e-9
}

// histogramDrawing is a histogram being drawn.
type histogramDrawing struct {
	bytes.Buffer
	stage     string
	bars      []bar
	most      int // in a bar
	quantiles restapi.Quantiles
	x, y      svg.Axis
}

func (h *histogramDrawing) draw() string {
	fmt.Fprintf(h, `<svg xmlns="http://www.w3.org/2000/svg" class="draw" role="img" aria-label="%s" width="%d" height="%d" viewBox="0 0 %[2]d %[3]d">`+"\n", svg.Text(h.spoken()), plotLeft+plotWidth+80, plotTop+plotHeight+50)
	if len(h.bars) == 0 {
		fmt.Fprintf(h, `<text x="%d" y="%d">No attempt has finished</text>`+"\n", margin, margin+12)
	} else {
		h.axes()
		for _, b := range h.bars {
			h.bar(b)
		}
		for i, q := range h.marks() {
			x := h.px(q.at)
			fmt.Fprintf(h, `<path class="draw-quantile" d="M%d %dV%d"><title>%s</title></path><text x="%d" y="%d">p%d %s</text>`+"\n", x, margin+lineHeight*i, plotTop+plotHeight, svg.Text(q.words()), x+4, margin+11+lineHeight*i, q.percent, svg.Text(length(q.at)))
		}
	}
	h.WriteString("</svg>\n")
	return h.String()
}

// mark is a quantile.
type mark struct {
	percent int
	at      float64
}

func (h *histogramDrawing) marks() []mark {
	q := h.quantiles
	return []mark{{50, seconds(q.P50)}, {90, seconds(q.P90)}, {99, seconds(q.P99)}}
}

func (m mark) words() string { return fmt.Sprintf("%d %% ran for at most %s", m.percent, length(m.at)) }

// words says what a bar shows.
func (b bar) words() string {
	return fmt.Sprintf("%s ran for %s to %s", counted(b.count, "attempt"), length(b.from), length(b.to))
}

// spoken is the drawing in words.
func (h *histogramDrawing) spoken() string {
	of := "Running times in stage " + name(h.stage, titleMax)
	if len(h.bars) == 0 {
		return of + ": no attempt has finished."
	}
	all, most := 0, h.bars[0]
	for _, b := range h.bars {
		if all += b.count; b.count > most.count {
			most = b
		}
	}
	s := []string{fmt.Sprintf("%s, of %s that finished: %s to %s", of, counted(all, "attempt"), length(seconds(h.quantiles.Min)), length(seconds(h.quantiles.Max)))}
	for _, m := range h.marks() {
		s = append(s, m.words())
	}
	return strings.Join(append(s, "The highest bar: "+most.words()), ". ") + "."
}

func (h *histogramDrawing) px(seconds float64) int {
	return plotLeft + int(math.Round(plotWidth*h.x.Part(seconds)))
}

func (h *histogramDrawing) py(count float64) int {
	return plotTop + plotHeight - int(math.Round(plotHeight*h.y.Part(count)))
}

// axes draws both axes; attempts are whole numbers.
func (h *histogramDrawing) axes() {
	bottom := plotTop + plotHeight
	for _, t := range h.y.Ticks {
		if t.At == math.Trunc(t.At) {
			fmt.Fprintf(h, `<path class="draw-grid" d="M%d %dh%d"/><text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", plotLeft, h.py(t.At), plotWidth, plotLeft-6, h.py(t.At)+4, svg.Text(t.Label))
		}
	}
	for i, t := range h.x.Ticks {
		x := h.px(t.At)
		fmt.Fprintf(h, `<path class="draw-grid" d="M%d %dV%d"/>`, x, plotTop, bottom)
		if i%(len(h.x.Ticks)/12+1) == 0 {
			fmt.Fprintf(h, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", x, bottom+16, svg.Text(length(t.At)))
		}
	}
	fmt.Fprintf(h, `<text x="%d" y="%d" text-anchor="middle">running time; height: attempts</text>`+"\n", plotLeft+plotWidth/2, bottom+16+lineHeight)
}

func (h *histogramDrawing) bar(b bar) {
	x, y := h.px(b.from), h.py(float64(b.count))
	y = min(y, plotTop+plotHeight-1)
	fmt.Fprintf(h, `<rect class="draw-bar" x="%d" y="%d" width="%d" height="%d"><title>%s</title></rect>`+"\n", x, y, max(1, h.px(b.to)-x), plotTop+plotHeight-y, svg.Text(b.words()))
}

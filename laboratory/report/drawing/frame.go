package drawing

import (
	"bytes"
	"fmt"

	"github.com/hamadryad/hamadryad/internal/svg"
)

// Measures of all drawings, in pixels.
const (
	width  = 960
	left   = 120 // of the plot
	right  = 720 // the legend is to the right of it
	top    = 56
	usual  = 300 // usual height of the plot
	below  = 56  // for the axis
	wordsX = right + 42
)

// Bounds of texts.
const (
	// LegendMax bounds the names in a legend; further ones are counted.
	LegendMax = 16
	// Lengths to which a title, a name in the legend, and a lane's name are cut, in characters.
	titleMax = 100
	nameMax  = 26
	laneMax  = 11
)

// colours is the number of colours; they then repeat, dashed in curves.
const colours = 8

// style has every colour twice, for light and for dark backgrounds.
const style = `<style>
.d-back{fill:#ffffff}.d-ink{fill:#1c1c1c}.d-axis{stroke:#1c1c1c;fill:none}.d-grid{stroke:#dddddd;fill:none}.d-line{fill:none;stroke-width:2}.d-pale{opacity:.4}
.d-f0{fill:#4477aa}.d-f1{fill:#ee6677}.d-f2{fill:#228833}.d-f3{fill:#aa7700}.d-f4{fill:#0088aa}.d-f5{fill:#aa3377}.d-f6{fill:#777777}.d-f7{fill:#222266}
.d-s0{stroke:#4477aa}.d-s1{stroke:#ee6677}.d-s2{stroke:#228833}.d-s3{stroke:#aa7700}.d-s4{stroke:#0088aa}.d-s5{stroke:#aa3377}.d-s6{stroke:#777777}.d-s7{stroke:#222266}
@media (prefers-color-scheme:dark){
.d-back{fill:#181818}.d-ink{fill:#e6e6e6}.d-axis{stroke:#e6e6e6}.d-grid{stroke:#3a3a3a}
.d-f0{fill:#77aadd}.d-f1{fill:#ff8899}.d-f2{fill:#66cc77}.d-f3{fill:#ddbb55}.d-f4{fill:#44bbdd}.d-f5{fill:#dd77bb}.d-f6{fill:#aaaaaa}.d-f7{fill:#ccccff}
.d-s0{stroke:#77aadd}.d-s1{stroke:#ff8899}.d-s2{stroke:#66cc77}.d-s3{stroke:#ddbb55}.d-s4{stroke:#44bbdd}.d-s5{stroke:#dd77bb}.d-s6{stroke:#aaaaaa}.d-s7{stroke:#ccccff}
}
</style>
`

// frame is a drawing in progress.
type frame struct {
	bytes.Buffer
	x, y   svg.Axis
	height int // of the plot
}

func newFrame(title string, x, y svg.Axis, height int) *frame {
	f := &frame{x: x, y: y, height: height}
	title = svg.Cut(title, titleMax)
	all := top + height + below
	fmt.Fprintf(f, `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="%s" width="%d" height="%d" viewBox="0 0 %[2]d %[3]d" font-family="sans-serif" font-size="13">`+"\n", svg.Text(title), width, all)
	f.WriteString(style)
	fmt.Fprintf(f, `<rect class="d-back" width="%d" height="%d"/>`+"\n", width, all)
	f.words(24, 28, "start", title, `font-size="16"`)
	return f
}

// words writes some text.
func (f *frame) words(x, y float64, anchor, s, more string) {
	fmt.Fprintf(f, `<text class="d-ink" x="%.1f" y="%.1f" text-anchor="%s" %s>%s</text>`+"\n", x, y, anchor, more, svg.Text(s))
}

func (f *frame) px(v float64) float64 { return left + (right-left)*f.x.Part(v) }
func (f *frame) py(v float64) float64 { return float64(top+f.height) - float64(f.height)*f.y.Part(v) }

// axes draws both with their ticks and titles.
func (f *frame) axes() {
	bottom := float64(top + f.height)
	for _, t := range f.x.Ticks {
		fmt.Fprintf(f, `<path class="d-grid" d="M%.1f %d V%.1f"/>`, f.px(t.At), top, bottom)
		f.words(f.px(t.At), bottom+18, "middle", t.Label, "")
	}
	for _, t := range f.y.Ticks {
		fmt.Fprintf(f, `<path class="d-grid" d="M%d %.1f H%d"/>`, left, f.py(t.At), right)
		f.words(left-8, f.py(t.At)+4, "end", t.Label, "")
	}
	fmt.Fprintf(f, `<path class="d-axis" d="M%d %d V%.1f H%d"/>`+"\n", left, top, bottom, right)
	f.words((left+right)/2, bottom+42, "middle", f.x.Title, "")
	fmt.Fprintf(f, `<text class="d-ink" transform="translate(22 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", top+f.height/2, svg.Text(f.y.Title))
}

// legend lists names with their colours, from top to bottom.
func (f *frame) legend(names []string, colour func(int) string) {
	for i, n := range names {
		y := float64(top + 20*i)
		if i == LegendMax {
			f.words(wordsX, y+12, "start", fmt.Sprintf("and %d more", len(names)-i), "")
			return
		}
		fmt.Fprintf(f, `<path %s d="M%d %.1f h24"/>`, colour(i), right+12, y+8)
		f.words(wordsX, y+12, "start", svg.Cut(n, nameMax), "")
	}
}

// end is the whole drawing.
func (f *frame) end() []byte {
	f.WriteString("</svg>\n")
	return f.Bytes()
}

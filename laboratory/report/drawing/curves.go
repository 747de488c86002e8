package drawing

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/internal/svg"
)

// PointsMax is how many steps of a curve are drawn.
const PointsMax = 400

// Distributions are samples, each drawn as its cumulative distribution.
type Distributions struct {
	Title string
	// X is the measure, with its unit.
	X string
	// Samples are at most LegendMax; further ones are left out, and the legend says so.
	Samples []Sample
}

// Sample is a named sample.
type Sample struct {
	Name   string
	Values []float64
}

// SVG draws them. The axis is logarithmic when all values are above 0 and span a hundredfold.
func (d *Distributions) SVG() []byte {
	low, high := 0.0, 0.0
	first := true
	for _, s := range d.Samples {
		for _, v := range s.Values {
			if first {
				low, high, first = v, v, false
			}
			low, high = min(low, v), max(high, v)
		}
	}
	x := svg.Linear(d.X, high, 10)
	if low > 0 && high >= 100*low {
		x = svg.Logarithmic(d.X, low, high)
	}
	f := newFrame(d.Title, x, svg.Linear("share of jobs", 1, 5), usual)
	f.axes()
	var names []string
	sorted := make([][]float64, len(d.Samples))
	for i, s := range d.Samples {
		sorted[i] = slices.Sorted(slices.Values(s.Values))
	}
	same := equals(len(sorted), func(a, b int) bool { return slices.Equal(sorted[a], sorted[b]) })
	for i, s := range d.Samples {
		names = append(names, s.Name)
		if i < LegendMax {
			f.distribution(sorted[i], same[i].dashed(colour(i)))
		}
	}
	f.legend(names, colour)
	return f.end()
}

// colour is how the curve of a place is drawn.
func colour(i int) string {
	dashes := ""
	if i >= colours {
		dashes = ` stroke-dasharray="6 3"`
	}
	return fmt.Sprintf(`class="d-line d-s%d"%s`, i%colours, dashes)
}

// distribution draws sorted values.
func (f *frame) distribution(sorted []float64, colour string) {
	if len(sorted) == 0 {
		return
	}
	fmt.Fprintf(f, `<path %s d="M%d %.1f`, colour, left, f.py(0))
	n := min(len(sorted), PointsMax)
	for i := 1; i <= n; i++ {
		k := i*len(sorted)/n - 1
		fmt.Fprintf(f, " H%.1f V%.1f", f.px(sorted[k]), f.py(float64(k+1)/float64(len(sorted))))
	}
	fmt.Fprintf(f, ` H%d"/>`+"\n", right)
}

package drawing

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/internal/svg"
	"github.com/hamadryad/hamadryad/internal/svg/svgtest"
)

const hostile = `<script>alert("1")</script>&amp;'` + "\x00\x1b\u202e]]>"

func number(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// The area of each layer is what the party held, and no layer covers another.
func TestAStacksAreasAreWhatIsHeld(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 17))
	for range 30 {
		s := Stack{Title: "t", Y: "slots", Most: 10, Parties: []string{"a", "b", "c"}}
		at, want := time.Duration(0), make([]float64, 3)
		for range 1 + r.IntN(40) {
			at += time.Duration(r.IntN(2)*r.IntN(50)) * time.Second // sometimes none holds anything between
			step := Step{At: at, To: at + time.Duration(1+r.IntN(60))*time.Second, Held: make([]float64, 3)}
			for p := range want {
				step.Held[p] = float64(r.IntN(4))
				want[p] += step.Held[p] * (step.To - step.At).Seconds()
			}
			at = step.To
			s.Steps = append(s.Steps, step)
		}
		pixels := float64(right-left) / at.Seconds() * usual / s.Most // of a slot second
		got := make([]float64, 3)
		for _, e := range svgtest.Parse(t, s.SVG()) {
			if c := e.Attr["class"]; e.Name == "path" && strings.HasPrefix(c, "d-f") {
				got[c[3]-'0'] += area(t, e.Attr["d"])
			}
		}
		for p := range want {
			if slack := 0.1 * 700 * 4; math.Abs(got[p]-want[p]*pixels) > slack { // a tenth of a pixel along the whole
				t.Errorf("party %d has %.0f square pixels, want %.0f", p, got[p], want[p]*pixels)
			}
		}
	}
}

var stroke = regexp.MustCompile(`([MVHZ])([\d.]*) ?([\d.]*)`)

// area is the area of closed shapes with sides along the axes.
func area(t *testing.T, path string) (sum float64) {
	t.Helper()
	x, y := 0.0, 0.0
	for _, m := range stroke.FindAllStringSubmatch(path, -1) {
		switch m[1] {
		case "M":
			x, y = number(t, m[2]), number(t, m[3])
		case "V":
			y = number(t, m[2])
		case "H":
			to := number(t, m[2])
			sum += (to - x) * (float64(top+usual) - y)
			x = to
		}
	}
	return sum
}

// The curve is at each place as high as the share of values that are at most so large.
func TestADistributionIsTheShare(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 17))
	for round := range 20 {
		values := make([]float64, 1+r.IntN(PointsMax))
		for i := range values {
			values[i] = 1 + math.Floor(r.ExpFloat64()*float64(20+round*100))
		}
		d := Distributions{Title: "t", X: "s", Samples: []Sample{{"a", values}}}
		low, high := slices.Min(values), slices.Max(values)
		x := svg.Linear("", high, 10)
		if high >= 100*low {
			x = svg.Logarithmic("", low, high)
		}
		f := newFrame("", x, svg.Linear("", 1, 5), usual)
		found := false
		for _, e := range svgtest.Parse(t, d.SVG()) {
			if e.Attr["class"] != "d-line d-s0" || strings.Contains(e.Attr["d"], "h24") {
				continue
			}
			found = true
			at := 0.0
			for _, m := range stroke.FindAllStringSubmatch(e.Attr["d"], -1) {
				switch m[1] {
				case "H":
					at = number(t, m[2])
				case "V":
					share := (float64(top+usual) - number(t, m[2])) / usual
					most, least := 0, 0 // those surely at most here, give or take a tenth of a pixel
					for _, v := range values {
						if f.px(v) <= at+0.06 {
							most++
						}
						if f.px(v) < at-0.06 {
							least++
						}
					}
					n := float64(len(values))
					if share > float64(most)/n+0.001 || share < float64(least)/n-0.001 {
						t.Errorf("at %v it is %v, want %v to %v", at, share, float64(least)/n, float64(most)/n)
					}
				}
			}
		}
		if !found {
			t.Fatal("there is no curve")
		}
	}
}

// Each point of a line is where its values are on the axes, from left to right in whatever order they came.
func TestLinesGoThroughTheirPoints(t *testing.T) {
	l := Lines{Title: "t", X: "x", Y: "y", Lines: []Points{
		{"b", []Point{{100, 8}, {10, 2}, {50, 4}}},
		{"c", []Point{{20, 1}}},
	}}
	var paths []string
	for _, e := range svgtest.Parse(t, l.SVG()) {
		if c := e.Attr["class"]; e.Name == "path" && strings.HasPrefix(c, "d-line d-s") && !strings.Contains(e.Attr["d"], "h") {
			paths = append(paths, c+" "+e.Attr["d"])
		}
	}
	at := func(x, y float64) string {
		return fmt.Sprintf("%.1f %.1f", left+(right-left)*x/100, top+usual*(1-y/8))
	}
	want := []string{"d-line d-s0 M" + at(10, 2) + "L" + at(50, 4) + "L" + at(100, 8), "d-line d-s1 M" + at(20, 1)}
	if !slices.Equal(paths, want) {
		t.Errorf("the lines are %q, want %q", paths, want)
	}
}

// On logarithmic axes a power is straight, and what is not above 0 stands at the least.
func TestLogarithmicLines(t *testing.T) {
	l := Lines{Log: true, Lines: []Points{{"square", []Point{{1, 10}, {10, 1000}, {100, 100_000}, {100, 0}}}}}
	svg := string(l.SVG())
	at := func(x, y float64) string {
		return fmt.Sprintf("%.1f %.1f", left+(right-left)*x/2, top+usual*(1-y/4))
	}
	if want := "M" + at(0, 0) + "L" + at(1, 2) + "L" + at(2, 4) + "L" + at(2, 0); !strings.Contains(svg, want) {
		t.Errorf("%s is not drawn in\n%s", want, svg)
	}
	svgtest.Parse(t, (&Lines{Log: true, Lines: []Points{{"nothing", []Point{{0, 0}}}}}).SVG())
}

// Names are text, in each drawing, and nothing that is hidden goes with them.
func TestHostileNames(t *testing.T) {
	for name, svg := range map[string][]byte{
		"stack": (&Stack{
			Title: hostile, Y: hostile, Most: 1, Parties: []string{hostile}, Marks: []Mark{{time.Second, hostile}},
			Steps: []Step{{0, 2 * time.Second, []float64{1}}},
		}).SVG(),
		"lines":         (&Lines{Title: hostile, X: hostile, Y: hostile, Lines: []Points{{hostile, []Point{{1, 1}, {2, 3}}}}}).SVG(),
		"distributions": (&Distributions{Title: hostile, X: hostile, Samples: []Sample{{hostile, []float64{1, 1000}}}}).SVG(),
		"gantt":         (&Gantt{Title: hostile, Lanes: []string{hostile}, Parties: []string{hostile}, Note: []string{hostile}, Bars: []Bar{{0, 0, 0, time.Second, true, hostile}}}).SVG(),
	} {
		named := 0
		for _, e := range svgtest.Parse(t, svg) {
			if !slices.Contains([]string{"svg", "style", "rect", "text", "path", "title"}, e.Name) {
				t.Errorf("%s: there is an element %s", name, e.Name)
			}
			if strings.Contains(e.Text, "<script>") {
				named++
			}
			if e.Attr["href"] != "" || e.Attr["onload"] != "" {
				t.Errorf("%s: %+v", name, e)
			}
		}
		if named < 2 || bytes.ContainsAny(svg, "\x00\x1b\u202e") {
			t.Errorf("%s: %d texts have the name", name, named)
		}
	}
}

// Nothing to draw is drawn, and so are more names than fit.
func TestLittleAndMuch(t *testing.T) {
	for _, svg := range [][]byte{(&Stack{}).SVG(), (&Lines{}).SVG(), (&Lines{Lines: []Points{{"a", nil}, {"b", []Point{{0, 0}}}}}).SVG(), (&Distributions{}).SVG(), (&Gantt{}).SVG(), (&Distributions{Samples: []Sample{{"a", nil}, {"b", []float64{0}}}}).SVG()} {
		if bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Errorf("it has numbers that are none:\n%s", svg)
		}
		svgtest.Parse(t, svg)
	}
	var many Distributions
	for i := range LegendMax + 3 {
		many.Samples = append(many.Samples, Sample{fmt.Sprint("n", i), []float64{1, 2}})
	}
	if svg := string(many.SVG()); !strings.Contains(svg, "and 3 more") || strings.Contains(svg, fmt.Sprint("n", LegendMax)) {
		t.Error("what is left out is not said")
	}
}

// Curves of equal samples are drawn in dashes that leave room for each other, and another curve is not.
func TestEqualCurvesDoNotHideEachOther(t *testing.T) {
	looks := func(svg []byte) (looks []string) {
		for _, e := range svgtest.Parse(t, svg) {
			if c := e.Attr["class"]; e.Name == "path" && strings.HasPrefix(c, "d-line d-s") && !strings.Contains(e.Attr["d"], "h") {
				looks = append(looks, c+" "+e.Attr["stroke-dasharray"]+" "+e.Attr["stroke-dashoffset"])
			}
		}
		return looks
	}
	want := []string{"d-line d-s0 8 16 0", "d-line d-s1  ", "d-line d-s2 8 16 -8", "d-line d-s3 8 16 -16"}
	d := Distributions{Samples: []Sample{{"a", []float64{1, 2}}, {"b", []float64{1, 3}}, {"c", []float64{2, 1}}, {"d", []float64{1, 2}}}}
	if got := looks(d.SVG()); !slices.Equal(got, want) {
		t.Errorf("distributions are drawn as %q, want %q", got, want)
	}
	one, two := []Point{{1, 1}, {2, 3}}, []Point{{1, 2}, {2, 3}}
	l := Lines{Lines: []Points{{"a", one}, {"b", two}, {"c", one}, {"d", one}}}
	if got := looks(l.SVG()); !slices.Equal(got, want) {
		t.Errorf("lines are drawn as %q, want %q", got, want)
	}
}

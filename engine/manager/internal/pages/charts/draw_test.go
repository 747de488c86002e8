package charts

import (
	"html/template"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hamadryad/hamadryad/internal/svg/svgtest"
)

// hostile are names that somebody may give to a stage, a launcher or an outcome.
var hostile = []string{
	`<script>alert("1")</script>`, `"><a href="javascript:alert(1)">`, `javascript:alert(1)`, `' onload='alert(1)`, `</title></svg><img src=x onerror=alert(1)>`,
	"\xff\xfe\x80", "\x00\x1b[31m\x07", "\u202egnp.\u200f\u2066", "]]><!--", "&lt;b&gt;", "", " \t\n", strings.Repeat("&", 5000), "a b/c?d#e=f+g%h", "世界世界世界世界世界世界世界",
}

// allowed are the elements of drawings, and their attributes.
var allowed = map[string][]string{
	"svg":   {"xmlns", "class", "role", "aria-label", "width", "height", "viewBox"},
	"g":     {"class", "role", "aria-label", "transform", "text-anchor"},
	"a":     {"href", "transform"},
	"title": {},
	"text":  {"class", "x", "y", "text-anchor"},
	"rect":  {"class", "x", "y", "width", "height", "rx"},
	"path":  {"class", "d"},
}

// values are the permitted values of attributes: no colour, and no address but a stage's, or of a
// line on the page.
var values = map[string]*regexp.Regexp{
	"xmlns":       regexp.MustCompile(`^http://www\.w3\.org/2000/svg$`),
	"class":       regexp.MustCompile(`^draw(-[a-z]+)?$`),
	"role":        regexp.MustCompile(`^(img|group)$`),
	"aria-label":  regexp.MustCompile(`(?s)^.+$`),
	"transform":   regexp.MustCompile(`^translate\(\d+ \d+\)$`),
	"href":        regexp.MustCompile(`^(\?stage=[A-Za-z0-9_.~%+-]*|#why-[1-9][0-9]*)$`),
	"text-anchor": regexp.MustCompile(`^(middle|end)$`),
	"d":           regexp.MustCompile(`^[MLHVCAZmlhvcaz0-9 .-]+$`),
	"viewBox":     regexp.MustCompile(`^0 0 \d+ \d+$`),
	"x":           number, "y": number, "width": number, "height": number, "rx": number,
}

var number = regexp.MustCompile(`^-?\d+$`)

// parse reads a drawing, and checks that it has only what drawings may have.
func parse(t testing.TB, drawn template.HTML) []*svgtest.Element {
	t.Helper()
	if !utf8.ValidString(string(drawn)) {
		t.Fatal("it is no UTF-8")
	}
	for _, r := range string(drawn) {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Fatalf("it has %q, which cannot be seen", r)
		}
	}
	list := svgtest.Parse(t, []byte(drawn))
	for _, e := range list {
		attributes, ok := allowed[e.Name]
		if !ok {
			t.Fatalf("there is an element %s", e.Name)
		}
		for n, value := range e.Attr {
			if !slices.Contains(attributes, n) || !values[n].MatchString(value) {
				t.Fatalf("%s has %s=%q", e.Name, n, value)
			}
		}
	}
	return list
}

// of lists the elements of a class.
func of(list []*svgtest.Element, class string) (all []*svgtest.Element) {
	for _, e := range list {
		if e.Attr["class"] == class {
			all = append(all, e)
		}
	}
	return all
}

// label is a drawing's text for people who do not see it.
func label(t testing.TB, list []*svgtest.Element) string {
	t.Helper()
	for _, e := range list {
		if e.Attr["role"] == "img" {
			return e.Attr["aria-label"]
		}
	}
	t.Fatal("no element has role=img")
	return ""
}

// holds checks that a text has parts in it.
func holds(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in %q", p, text)
		}
	}
}

// variable is a colour of the sheet, for light and for dark ground.
var variable = regexp.MustCompile(`--draw-([a-z]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\);`)

// Text is readable on its background, and shapes stand out from theirs, in both themes (WCAG 2.2,
// 1.4.3 and 1.4.11).
func TestColoursContrast(t *testing.T) {
	colours := map[string][2]float64{}
	for _, m := range variable.FindAllStringSubmatch(Style, -1) {
		colours[m[1]] = [2]float64{luminance(t, m[2]), luminance(t, m[3])}
	}
	if len(colours) < 10 {
		t.Fatalf("the sheet has colours %v", colours)
	}
	for name := range colours {
		least := 3.0
		switch name {
		case "ink":
			least = 4.5
		case "ground", "box", "rest":
			continue
		}
		for _, ground := range []string{"ground", "box"} {
			for theme := range 2 {
				a, b := colours[name][theme], colours[ground][theme]
				if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < least {
					t.Errorf("%s on %s has a contrast of %.1f in theme %d, want %v", name, ground, ratio, theme, least)
				}
			}
		}
	}
}

// luminance is the relative luminance of a colour as WCAG has it.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	part := func(shift int, weight float64) float64 {
		c := float64(n>>shift&255) / 255
		if c <= 0.04045 {
			return weight * c / 12.92
		}
		return weight * math.Pow((c+0.055)/1.055, 2.4)
	}
	return part(16, 0.2126) + part(8, 0.7152) + part(0, 0.0722)
}

// A page has only the style sheet's rules: each class of a drawing is in the sheet, and no other.
// What differs in colour also differs in dashes or shape.
func TestTheSheetHasEachClass(t *testing.T) {
	used := map[string]bool{}
	count := func(drawn template.HTML) {
		for _, e := range parse(t, drawn) {
			used[e.Attr["class"]] = true
		}
	}
	g, progress := big(StagesMax + 1)
	g.Connections[0].Channel = "pigeon"
	x := day(rand.New(rand.NewPCG(19, 8)), 3, 100, 2)
	(*x.Lanes[0].Ended)["vanished"] = []int{1}
	count(Graph(g, progress))
	count(Timeline(x))
	count(Waits(reasons(base, WaitRowsMax+2, 50), base, base.Add(time.Hour)))
	count(Histogram(measured("map", []time.Duration{time.Second})))
	delete(used, "")
	ruled := map[string]bool{}
	for _, m := range regexp.MustCompile(`\.(draw[a-z-]*)`).FindAllStringSubmatch(Style, -1) {
		ruled[m[1]] = true
	}
	for c := range used {
		if !ruled[c] {
			t.Errorf("%s has no rule", c)
		}
	}
	for c := range ruled {
		if !used[c] {
			t.Errorf("%s is drawn nowhere", c)
		}
	}
	signs, dashes := map[string]bool{}, map[string]bool{}
	for _, o := range outcomes {
		signs[o.path] = true
	}
	for _, kind := range []string{"file", "tcp", "shm", "unknown"} {
		_, rule, _ := strings.Cut(Style, ".draw-"+kind+" { stroke-dasharray: ") // the first rule has none: a whole line
		rule, _, _ = strings.Cut(rule, ";")
		dashes[rule] = true
	}
	if len(signs) != len(outcomes) {
		t.Errorf("outcomes have signs %v", signs)
	}
	if len(dashes) != 4 {
		t.Errorf("channels have dashes %v", dashes)
	}
}

package charts

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/internal/svg/svgtest"
)

// day is a timeline of random lanes, in which heights and ends come and go: what runs changes,
// and something ends, once in so many buckets.
func day(r *rand.Rand, lanes, buckets, every int) restapi.Timeline {
	t := restapi.Timeline{From: time.Unix(1_000_000_000, 0), To: time.Unix(1_000_000_100, 0), Buckets: buckets}
	for i := range lanes {
		l, ended := restapi.Lane{Name: fmt.Sprintf("launcher-%03d", i)}, map[string][]int{}
		for _, o := range outcomes[:5] {
			ended[o.name] = make([]int, buckets)
		}
		v := 0
		for b := range buckets {
			if r.IntN(every) == 0 {
				v = r.IntN(9)
				ended[outcomes[r.IntN(5)].name][b] += r.IntN(3)
			}
			l.Running = append(l.Running, float32(v))
		}
		l.Ended = &ended
		t.Lanes = append(t.Lanes, l)
	}
	return t
}

// laneOf finds the lane of a name, and in it the path of a class; empty without one.
func laneOf(list []*svgtest.Element, name, class string) (path string) {
	for _, e := range list {
		if in := e.Parents; e.Attr["class"] == class && strings.HasPrefix(in[len(in)-1].Title, name+": ") {
			return e.Attr["d"]
		}
	}
	return ""
}

var command = regexp.MustCompile(`([Mvhz])(-?\d*) ?(\d*)`)

func integer(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// heights returns the heights of closed shapes above one line, by pixel from left to right.
func heights(t *testing.T, path string) []int {
	t.Helper()
	all := make([]int, laneWidth)
	x, high, line := 0, 0, ""
	for _, m := range command.FindAllStringSubmatch(path, -1) {
		switch m[1] {
		case "M":
			if x = integer(t, m[2]); high != 0 || line != "" && line != m[3] {
				t.Fatalf("%q does not begin on its line", path)
			}
			line = m[3]
		case "v":
			high -= integer(t, m[2])
		case "h":
			for range integer(t, m[2]) {
				all[x] = high
				x++
			}
		}
	}
	return all
}

// In each bucket the lane is as high as what ran there, and all lanes have one scale.
func TestALaneIsAsHighAsWhatRan(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 4))
	for range 30 {
		buckets := 1 + r.IntN([]int{100, columnsMax}[r.IntN(2)])
		x := day(r, 1+r.IntN(5), buckets, 1+r.IntN(20))
		drawn := Timeline(x)
		if drawn != Timeline(x) {
			t.Fatal("the same timeline is drawn in two ways")
		}
		list := parse(t, drawn)
		most := float32(0)
		for _, l := range x.Lanes {
			most = max(most, slices.Max(l.Running))
		}
		for i, l := range x.Lanes {
			path := laneOf(list, l.Name, "draw-run")
			for _, e := range list { // a running attempt is on the line of its name
				if below := fmt.Sprint(" ", e.Integer(t, "y")+3); e.Name == "text" && e.Text == l.Name && path != "" && !strings.Contains(path, below+"v") {
					t.Fatalf("%s is not at%s: %s", l.Name, below, path)
				}
			}
			got := heights(t, path)
			for b, v := range l.Running {
				want := 0
				if v > 0 {
					want = int(math.Round(float64(runHeight * v / most)))
				}
				for at := b * laneWidth / buckets; at < (b+1)*laneWidth/buckets; at++ {
					if got[at] != want {
						t.Fatalf("in bucket %d of %d, %s is %d high at %d, want %d", b, buckets, l.Name, got[at], at, want)
					}
				}
			}
			if buckets <= 100 { // so that a sign is in one bucket
				checkSigns(t, list, x, i)
			}
		}
	}
}

// checkSigns checks that signs, and lines from them, are in the buckets in which something ended,
// in the lane's row of the outcome.
func checkSigns(t *testing.T, list []*svgtest.Element, x restapi.Timeline, lane int) {
	t.Helper()
	rows := [][2]int{} // outcomes that there are, with where their rows are
	for o := range outcomes[:5] {
		for _, l := range x.Lanes {
			if slices.Max((*l.Ended)[outcomes[o].name]) > 0 {
				rows = append(rows, [2]int{o, runHeight + rowHeight*len(rows) + rowHeight/2})
				break
			}
		}
	}
	for _, row := range rows {
		o := outcomes[row[0]]
		down := lane*(runHeight+rowHeight*len(rows)+laneGap) + row[1]
		got := covered(t, of(list, "draw-"+o.name)[1].Attr["d"], down) // the first is in the legend
		for b, n := range (*x.Lanes[lane].Ended)[o.name] {
			if is := got[(b*laneWidth/x.Buckets+(b+1)*laneWidth/x.Buckets)/2]; is != (n > 0) {
				t.Fatalf("%s in bucket %d: drawn %v, and there are %d", o.name, b, is, n)
			}
		}
	}
}

var token = regexp.MustCompile(`[Mmlhvz]|-?\d+`)

// covered says which pixels from left to right a path goes over that are at most a sign's half from a height.
func covered(t *testing.T, path string, height int) map[int]bool {
	t.Helper()
	all, x, y, begin, cmd := map[int]bool{}, 0, 0, point{}, ""
	tokens := token.FindAllString(path, -1)
	next := func() int {
		n := integer(t, tokens[0])
		tokens = tokens[1:]
		return n
	}
	to := func(toX, toY int) {
		for i := min(x, toX); i <= max(x, toX) && abs(y-height) <= 3; i++ {
			all[i] = true
		}
		if x, y = toX, toY; toX < -4 || toX > laneWidth+4 {
			t.Fatalf("%q goes to %d", path, toX)
		}
	}
	for len(tokens) > 0 {
		if strings.Contains("Mmlhvz", tokens[0]) {
			cmd, tokens = tokens[0], tokens[1:]
		}
		switch cmd {
		case "M":
			x, y = next(), next()
		case "m":
			dx, dy := next(), next()
			x, y = x+dx, y+dy
		case "l":
			dx, dy := next(), next()
			to(x+dx, y+dy)
		case "h":
			to(x+next(), y)
		case "v":
			to(x, y+next())
		case "z":
			to(begin.x, begin.y)
		}
		if cmd == "M" || cmd == "m" {
			begin = point{x, y}
		}
	}
	return all
}

// The size of a drawing is bounded. Rare events are drawn bucket by bucket. With constant change
// and long names, buckets are joined and lanes left out, and the drawing says so.
func TestATimelinesBound(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 5))
	long := day(r, 200, 200, 1)
	for i := range long.Lanes {
		long.Lanes[i].Name = strings.Repeat("\"", 500) + fmt.Sprint(i)
	}
	many := day(r, 250, 1000, 100)
	many.LanesLeftOut = 7
	for _, c := range []struct {
		name string
		t    restapi.Timeline
		said []string
		not  string
	}{
		{"seldom", day(r, 200, 200, 40), nil, "Each step"},
		{"always", day(r, 200, 200, 1), []string{": 200 lanes", "Each step is the mean of ", "buckets of 500 ms"}, "lanes shown"},
		{"long names", long, []string{"Each step is the mean of ", " of 200 lanes shown"}, ""},
		{"many", many, []string{" of 257 lanes shown, those in which most ran", "buckets of 100 ms"}, ""},
	} {
		drawn := Timeline(c.t)
		if len(drawn) > TimelineBytesMax {
			t.Errorf("%s takes %d bytes", c.name, len(drawn))
		}
		list := parse(t, drawn)
		holds(t, label(t, list), c.said...)
		if c.not != "" && strings.Contains(label(t, list), c.not) {
			t.Errorf("%s: it says %s", c.name, label(t, list))
		}
		for _, s := range c.said[min(1, len(c.said)):] {
			if !slices.ContainsFunc(list, func(e *svgtest.Element) bool { return e.Name == "text" && strings.Contains(e.Text, s) }) {
				t.Errorf("%s: %q is not written", c.name, s)
			}
		}
	}
}

// Lanes are by name; of too many the ones with the most attempts are drawn. Ends are all counted,
// joined or not.
func TestATimelineInWords(t *testing.T) {
	x := restapi.Timeline{From: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), To: time.Date(2026, 3, 1, 12, 0, 4, 0, time.UTC), Buckets: 4, LanesLeftOut: 3}
	x.Lanes = []restapi.Lane{
		{Name: "b", Running: []float32{1, 2, 2.5, 0}, Ended: &map[string][]int{"finished": {0, 1, 0, 2}, "failed": {1, 0, 0, 0}, "vanished": {0, 1, 0, 0}, "exploded": {1, 0, 0, 0}}},
		{Name: "a", Running: []float32{0, 0, 1, 0}},
	}
	list := parse(t, Timeline(x))
	want := "Timeline of 4 s from 2026-03-01 12:00:00 UTC: 2 lanes. 2 of 5 lanes shown, those in which most ran. At most 2.5 attempts ran at once in a lane. Most ran in b. Ended: 1 failed, 3 finished, 2 other. Failed in b 1."
	if got := label(t, list); got != want {
		t.Errorf("it says\n%s, want\n%s", got, want)
	}
	var titles, ticks []string
	for _, e := range list {
		if e.Title != "" {
			titles = append(titles, e.Title)
		}
		if e.Name == "text" && len(e.Parents) == 2 && e.Parents[1].Attr["text-anchor"] == "middle" {
			ticks = append(ticks, e.Text)
		}
	}
	if want := []string{"a: 0.25 running on average", "b: 1.38 running on average; ended: 1 failed, 3 finished, 2 other", "failed", "finished", "other"}; !slices.Equal(titles, want) {
		t.Errorf("lanes say %q, want %q", titles, want)
	}
	if got := strings.Join(ticks, " "); got != "0 0 0.5 0.5 1 1 1.5 1.5 2 2 2.5 2.5 3 3 3.5 3.5 4 4" {
		t.Errorf("ticks are %s", got)
	}
	var all restapi.Timeline
	all.Buckets = 1
	for i := range LanesMax + 1 {
		all.Lanes = append(all.Lanes, restapi.Lane{Name: fmt.Sprint("lane-", i), Running: []float32{float32(i)}})
	}
	if drawn := string(Timeline(all)); strings.Contains(drawn, ">lane-0<") || !strings.Contains(drawn, ">lane-1<") || !strings.Contains(drawn, "200 of 201 lanes shown") {
		t.Error("the lane in which nothing ran isn't the one that is left out")
	}
}

// A column is the mean of its buckets, of which the last may have fewer, and has all their ends.
func TestBucketsJoin(t *testing.T) {
	x := restapi.Timeline{Buckets: 3, Lanes: []restapi.Lane{{Running: []float32{1, 2, 3}, Ended: &map[string][]int{"failed": {1, 2, 4}}}}}
	l := newTimeline(&x, 1, 2).lanes[0]
	if !slices.Equal(l.running, []float64{1.5, 3}) || l.mean != 2 || !slices.Equal(l.ended[0], []int{3, 4}) || l.ends[0] != 7 {
		t.Errorf("joined they are %+v", l)
	}
}

// A drawing results whatever the names of lanes and outcomes, and whatever the numbers.
func TestOddTimelines(t *testing.T) {
	x := restapi.Timeline{Buckets: 2, From: time.Unix(9, 0), To: time.Unix(1, 0)}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, n := range hostile {
		x.Lanes = append(x.Lanes, restapi.Lane{Name: n, Running: []float32{nan, inf, -1, 5}, Ended: &map[string][]int{n: {-1, 1, 1}}}, restapi.Lane{Name: n})
	}
	list := parse(t, Timeline(x))
	if !slices.ContainsFunc(list, func(e *svgtest.Element) bool { return e.Title == hostile[0]+": 0 running on average; ended: 1 other" }) {
		t.Error("no lane has the first name")
	}
	x.Buckets = -1
	parse(t, Timeline(x))
	holds(t, label(t, parse(t, Timeline(restapi.Timeline{}))), "Nothing has run")
}

func BenchmarkTimeline(b *testing.B) {
	for name, every := range map[string]int{"seldom": 40, "always": 1} {
		x := day(rand.New(rand.NewPCG(19, 6)), 200, 200, every)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(len(Timeline(x))), "B-of-SVG")
			}
		})
	}
}

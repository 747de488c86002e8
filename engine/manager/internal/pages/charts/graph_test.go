package charts

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/internal/svg/svgtest"
)

// random returns a graph without cycles, whose stages are in any order, with their progress.
func random(r *rand.Rand, stages, connections int) (g restapi.Graph, progress []restapi.Stage) {
	names := r.Perm(stages)
	for _, n := range names {
		s := restapi.Stage{Name: fmt.Sprint("stage-", n), Nodes: 1 + r.IntN(20), Running: r.IntN(2) * r.IntN(3), Failures: r.IntN(20) / 19}
		s.Finished = r.IntN(s.Nodes + 1)
		g.Stages = append(g.Stages, restapi.GraphStage{Name: s.Name, Nodes: s.Nodes})
		progress = append(progress, s)
	}
	channels := []restapi.ConnectionChannel{restapi.ConnectionChannelFile, restapi.ConnectionChannelTCP, restapi.ConnectionChannelShm}
	for range connections {
		a, b := r.IntN(stages), r.IntN(stages)
		if a != b {
			g.Connections = append(g.Connections, restapi.Connection{
				From: fmt.Sprint("stage-", min(a, b)), To: fmt.Sprint("stage-", max(a, b)), Channel: channels[r.IntN(3)], Pattern: restapi.ConnectionPatternAllToAll,
			})
		}
	}
	return g, progress
}

// longest is the number of connections on the longest path to a stage, by definition.
func longest(g restapi.Graph, stage string, known map[string]int) int {
	if n, ok := known[stage]; ok {
		return n
	}
	n := 0
	for _, c := range g.Connections {
		if c.To == stage {
			n = max(n, longest(g, c.From, known)+1)
		}
	}
	known[stage] = n
	return n
}

// Each stage is drawn once, in the column of its longest path, and says how far it is; no box
// covers another, and each connection leads from its one box to the other, to the right.
func TestAGraphIsDrawnWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 1))
	for range 150 {
		stages := 1 + r.IntN(40)
		g, progress := random(r, stages, r.IntN(2*stages))
		drawn := Graph(g, progress)
		if drawn != Graph(g, progress) {
			t.Fatal("the same graph is drawn in two ways")
		}
		list := parse(t, drawn)
		places := checkBoxes(t, list)
		if len(places) != stages {
			t.Fatalf("%d of %d stages are drawn", len(places), stages)
		}
		known := map[string]int{}
		for i, s := range g.Stages {
			p, ok := places["?stage="+s.Name]
			if want := longest(g, s.Name, known); !ok || p[0] != margin+want*columnStep {
				t.Fatalf("%s is at %v, want column %d of\n%+v", s.Name, p, want, g)
			}
			if want := fmt.Sprintf("%s: %d of ", s.Name, progress[i].Finished); !slices.ContainsFunc(list, func(e *svgtest.Element) bool { return e.Name == "a" && strings.HasPrefix(e.Title, want) }) {
				t.Fatalf("no box says %q", want)
			}
		}
		checkLines(t, g, list, places)
	}
}

// checkBoxes checks that none covers another, and returns where the links are.
func checkBoxes(t *testing.T, list []*svgtest.Element) map[string][2]int {
	t.Helper()
	all, links := [][2]int{}, map[string][2]int{}
	for _, e := range of(list, "draw-box") {
		x, y := e.At(t)
		for _, other := range all {
			if abs(other[0]-x) < boxWidth && abs(other[1]-y) < boxHeight+boxGap {
				t.Fatalf("boxes are at %v and %v", other, [2]int{x, y})
			}
		}
		all = append(all, [2]int{x, y})
		if a := e.Parents[len(e.Parents)-1]; a.Name == "a" {
			if _, twice := links[a.Attr["href"]]; twice {
				t.Fatalf("%s is drawn twice", a.Attr["href"])
			}
			links[a.Attr["href"]] = [2]int{x, y}
		}
	}
	return links
}

func abs(n int) int { return max(n, -n) }

// checkLines checks that each connection has its line, from box to box.
func checkLines(t *testing.T, g restapi.Graph, list []*svgtest.Element, places map[string][2]int) {
	t.Helper()
	lines := map[string]string{}
	for _, e := range list {
		if e.Name == "path" && strings.Contains(e.Title, " -> ") {
			words, _, _ := strings.Cut(e.Title, ", ")
			lines[words] = e.Attr["class"] + " " + e.Attr["d"]
		}
	}
	wanted := map[string]bool{}
	for _, c := range g.Connections {
		words := fmt.Sprintf("%s -> %s: %s", c.From, c.To, c.Channel)
		wanted[words] = true
		class, path, _ := strings.Cut(lines[words], " ")
		x, y, endX, endY := ends(t, path)
		from, to := places["?stage="+c.From], places["?stage="+c.To]
		if class != "draw-"+string(c.Channel) || x != from[0]+boxWidth || y <= from[1] || y >= from[1]+boxHeight || endX != to[0] || endX <= x || endY <= to[1] || endY >= to[1]+boxHeight {
			t.Fatalf("%s leads from %d %d to %d %d: %s; boxes are at %v and %v", words, x, y, endX, endY, lines[words], from, to)
		}
	}
	if len(lines) != len(wanted) {
		t.Fatalf("there are %d lines, want %d", len(lines), len(wanted))
	}
}

// ends follows a path of M, c and h.
func ends(t *testing.T, path string) (x, y, endX, endY int) {
	t.Helper()
	var rest string
	if _, err := fmt.Sscanf(path, "M%d %d%s", &x, &y, &rest); err != nil {
		t.Fatalf("%q: %v", path, err)
	}
	endX, endY = x, y
	at := strings.IndexAny(path, "ch")
	for _, step := range strings.FieldsFunc(strings.NewReplacer("c", "|c", "h", "|h").Replace(path[at:]), func(r rune) bool { return r == '|' }) {
		var a, b, c, d, dx, dy int
		if n, _ := fmt.Sscanf(step, "c%d %d %d %d %d %d", &a, &b, &c, &d, &dx, &dy); n != 6 {
			if n, _ := fmt.Sscanf(step, "h%d", &dx); n != 1 {
				t.Fatalf("%q", step)
			}
		}
		endX, endY = endX+dx, endY+dy
	}
	return x, y, endX, endY
}

// crossed counts the pairs of links that cross, one by one.
func crossed(g *grid, links []link) (n int) {
	column := map[int]int{}
	for i, c := range g.columns {
		for _, item := range c {
			column[item] = i
		}
	}
	for i, a := range links {
		for _, b := range links[:i] {
			if column[a.from] == column[b.from] && (g.at[a.from]-g.at[b.from])*(g.at[a.to]-g.at[b.to]) < 0 {
				n++
			}
		}
	}
	return n
}

// Ordering keeps each column's boxes, counts crossings right, and never adds any.
func TestOrderCutsCrossings(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 2))
	before, after := 0, 0
	for range 100 {
		var columns [][]int
		var links []link
		items := 0
		for range 2 + r.IntN(4) {
			var c []int
			for range 1 + r.IntN(8) {
				c = append(c, items)
				items++
			}
			columns = append(columns, c)
			if n := len(columns); n > 1 {
				for range r.IntN(16) {
					links = append(links, link{columns[n-2][r.IntN(len(columns[n-2]))], c[r.IntN(len(c))]})
				}
			}
		}
		g := newGrid(columns, links)
		was := crossed(g, links)
		if n := g.crossings(); n != was {
			t.Fatalf("%d links cross, want %d", n, was)
		}
		g.order()
		is := crossed(g, links)
		if n := g.crossings(); n != is || is > was {
			t.Fatalf("%d links cross, counted %d, before %d", is, n, was)
		}
		for i, c := range g.columns {
			if first := slices.Min(c); !slices.Equal(slices.Sorted(slices.Values(c)), span(first, len(c))) || i > 0 && first == 0 {
				t.Fatalf("column %d has %v", i, c)
			}
		}
		before, after = before+was, after+is
	}
	if after*2 > before {
		t.Errorf("%d of %d crossings are left", after, before)
	}
}

func span(first, n int) (list []int) {
	for i := range n {
		list = append(list, first+i)
	}
	return list
}

// A line that passes a column goes around the boxes there.
func TestALineGoesRoundBoxes(t *testing.T) {
	g := restapi.Graph{Stages: []restapi.GraphStage{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	for _, c := range [][2]string{{"a", "b"}, {"b", "c"}, {"a", "c"}} {
		g.Connections = append(g.Connections, restapi.Connection{From: c[0], To: c[1], Channel: "file", Pattern: "merge"})
	}
	list := parse(t, Graph(g, nil))
	b := checkBoxes(t, list)["?stage=b"]
	for _, e := range list {
		if e.Title == "a -> c: file, merge" {
			var x, y, gone, down int
			if _, err := fmt.Sscanf(e.Attr["d"], "M%d %dc36 0 36 %d %d", &x, &y, &down, &gone); err != nil {
				t.Fatal(err)
			}
			if y += down; y > b[1]-2 && y < b[1]+boxHeight+2 {
				t.Errorf("it passes b, which is at %v, at %d", b, y)
			}
			return
		}
	}
	t.Error("a and c are not joined")
}

// A box that is moved up keeps its distance from its neighbours, covers nothing new, and leaves no
// height empty.
func TestPackedLeavesNoHeightEmpty(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 9))
	for range 200 {
		var middle []float64
		var height []int
		for range 1 + r.IntN(12) {
			middle, height = append(middle, float64(r.IntN(600)-300)), append(height, 2+2*r.IntN(30))
		}
		got := packed(middle, height)
		filled, end := map[int]bool{}, 0
		for i, m := range got {
			for y := m - height[i]/2; y < m+height[i]/2; y++ {
				filled[y] = true
			}
			end = max(end, m+height[i]/2)
			for k := range i {
				was, is, room := int(middle[i]-middle[k]), m-got[k], (height[i]+height[k])/2
				if abs(was) < room && is != was || abs(was) >= room && (abs(is) < room || (is < 0) != (was < 0)) {
					t.Fatalf("%v of heights %v became %v", middle, height, got)
				}
			}
		}
		for y := range end {
			if !filled[y] || filled[-1-y] {
				t.Fatalf("%v of heights %v became %v, which is empty at %d", middle, height, got, y)
			}
		}
	}
}

func big(stages int) (restapi.Graph, []restapi.Stage) {
	return random(rand.New(rand.NewPCG(19, 3)), stages, 2*stages)
}

// Of a large graph the most relevant stages are drawn. Boxes stand for the others, so that all
// nodes and failures are included, and the drawing says what it leaves out.
func TestALargeGraphIsSummedUp(t *testing.T) {
	for _, n := range []int{StagesMax, StagesMax + 1, 1000, 5000} {
		g, progress := big(n)
		drawn := Graph(g, progress)
		if len(drawn) > GraphBytesMax {
			t.Errorf("%d stages take %d bytes", n, len(drawn))
		}
		list := parse(t, drawn)
		places := checkBoxes(t, list)
		if len(places) != min(n, StagesMax) {
			t.Errorf("%d of %d stages are drawn", len(places), n)
		}
		all, wanted := map[string]int{}, map[string]int{}
		for _, e := range list {
			if e.Name != "a" && e.Attr["class"] != "draw-more" {
				continue
			}
			_, progress, _ := strings.Cut(e.Title, ": ")
			for _, part := range strings.Split(progress, ", ") {
				var count, nodes int
				var what string
				if n, _ := fmt.Sscanf(part, "%d of %d", &count, &nodes); n == 2 {
					what = "finished"
					all["nodes"] += nodes
				} else if _, err := fmt.Sscanf(part, "%d %s", &count, &what); err != nil {
					t.Fatalf("%q: %v", e.Title, err)
				}
				all[strings.TrimSuffix(what, "s")] += count
			}
		}
		for _, s := range progress {
			wanted["nodes"] += s.Nodes
			wanted["finished"] += s.Finished
			wanted["running"] += s.Running
			wanted["failure"] += s.Failures
			if _, ok := places["?stage="+s.Name]; !ok && s.Failures > 0 {
				t.Errorf("%s failed, and is not drawn", s.Name)
			}
		}
		for what, n := range wanted {
			if all[what] != n {
				t.Errorf("boxes have %d %s, want %d", all[what], what, n)
			}
		}
		if said := fmt.Sprintf("%d of %d stages shown", StagesMax, n); strings.Contains(label(t, list), said) != (n > StagesMax) || strings.Contains(string(drawn), "<text x=\"10\" y=\"22\">"+said) != (n > StagesMax) {
			t.Errorf("of %d stages it says %s", n, label(t, list))
		}
	}
}

// Graphs of odd shapes keep the bound too: a chain, stages that are all joined, and long names.
func TestABoundHolds(t *testing.T) {
	chain, dense, long := restapi.Graph{}, restapi.Graph{}, restapi.Graph{}
	for i := range 1000 {
		chain.Stages = append(chain.Stages, restapi.GraphStage{Name: fmt.Sprint(i)})
		long.Stages = append(long.Stages, restapi.GraphStage{Name: strings.Repeat("\"", 1000) + fmt.Sprint(i)})
		chain.Connections = append(chain.Connections, restapi.Connection{From: fmt.Sprint(i), To: fmt.Sprint(i + 1), Channel: "tcp", Pattern: "one_to_one"}, restapi.Connection{From: fmt.Sprint(i), To: "999"})
	}
	for i := range 200 {
		dense.Stages = append(dense.Stages, restapi.GraphStage{Name: fmt.Sprint(i)})
		for k := range i {
			dense.Connections = append(dense.Connections, restapi.Connection{From: fmt.Sprint(k), To: fmt.Sprint(i), Channel: "shm"})
		}
	}
	for name, g := range map[string]restapi.Graph{"chain": chain, "dense": dense, "long": long} {
		drawn := Graph(g, nil)
		list := parse(t, drawn)
		if checkBoxes(t, list); len(drawn) > GraphBytesMax {
			t.Errorf("%s takes %d bytes", name, len(drawn))
		}
		holds(t, label(t, list), " shown")
	}
}

// The label says what the drawing shows.
func TestAGraphInWords(t *testing.T) {
	g := restapi.Graph{
		Stages: []restapi.GraphStage{{Name: "map", Nodes: 10}, {Name: "reduce", Nodes: 2}, {Name: "nothing", Nodes: 0}},
		Connections: []restapi.Connection{
			{From: "map", To: "reduce", Channel: "file", Pattern: "all_to_all"},
			{From: "map", To: "reduce", Channel: "tcp", Pattern: "merge"},
			{From: "map", To: "reduce", Channel: "tcp", Pattern: "merge"},
			{From: "map", To: "gone", Channel: "tcp", Pattern: "merge"},
		},
	}
	list := parse(t, Graph(g, []restapi.Stage{{Name: "map", Nodes: 10, Finished: 3, Running: 2, Suspended: 1, Failures: 4}, {Name: "reduce", Nodes: 2, Finished: 99}}))
	want := "3 stages in 2 layers from left to right: 5 of 12 nodes finished, 2 running, 1 suspended, 4 failures. 3 of 4 connections shown, the shortest first. " +
		"Failures in map. Connections: map -> reduce: file, all_to_all; map -> reduce: tcp, merge, 2 connections."
	if got := label(t, list); got != want {
		t.Errorf("it says\n%s, want\n%s", got, want)
	}
	var titles []string
	for _, e := range list {
		if e.Name == "a" {
			titles = append(titles, e.Title)
		}
	}
	if want := []string{"map: 3 of 10 nodes finished, 2 running, 1 suspended, 4 failures", "reduce: 2 of 2 nodes finished", "nothing: 0 of 0 nodes finished"}; !slices.Equal(titles, want) {
		t.Errorf("boxes say %q, want %q", titles, want)
	}
	if n := len(of(list, "draw-fault")); n != 1 {
		t.Errorf("%d boxes have the mark of a failure, want 1", n)
	}
	var widths []int
	for _, e := range of(list, "draw-done") {
		widths = append(widths, e.Integer(t, "width"))
	}
	if want := []int{barWidth * 3 / 10, barWidth}; !slices.Equal(widths, want) {
		t.Errorf("bars are %v wide, want %v", widths, want)
	}
}

// A name is text, whole in the title, and part of an address that leads to its stage.
func TestNamesInAGraph(t *testing.T) {
	var g restapi.Graph
	for i, n := range hostile {
		g.Stages = append(g.Stages, restapi.GraphStage{Name: n, Nodes: 1})
		g.Connections = append(g.Connections, restapi.Connection{From: n, To: hostile[(i+1)%len(hostile)], Channel: restapi.ConnectionChannel(n), Pattern: restapi.ConnectionPattern(n)})
	}
	list := parse(t, Graph(g, nil))
	found := map[string]string{}
	for _, e := range list {
		if e.Name == "a" {
			q, err := url.ParseQuery(strings.TrimPrefix(e.Attr["href"], "?"))
			if err != nil {
				t.Fatal(err)
			}
			found[q.Get("stage")] = e.Title
		}
	}
	for _, n := range hostile {
		title, ok := found[n]
		if wanted := len(n) < linkMax/3; ok != wanted {
			t.Errorf("%q is linked: %v", n, ok)
		}
		if n == hostile[0] && title != n+": 0 of 1 node finished" {
			t.Errorf("%q is titled %q", n, title)
		}
	}
	holds(t, string(Graph(restapi.Graph{Stages: []restapi.GraphStage{{Name: "a-name-that-is-too-long"}}}, nil)), ">a-name-that-is-too…<")
}

// What no manager sends does no harm: cycles, stages that are joined with themselves, the same name twice.
func TestOddGraphs(t *testing.T) {
	if list := parse(t, Graph(restapi.Graph{}, nil)); !strings.Contains(label(t, list), "No stages") {
		t.Errorf("of nothing it says %s", label(t, list))
	}
	var g restapi.Graph
	for _, n := range []string{"a", "b", "c", "c"} {
		g.Stages = append(g.Stages, restapi.GraphStage{Name: n, Nodes: -1})
		g.Connections = append(g.Connections, restapi.Connection{From: n, To: n}, restapi.Connection{From: "a", To: "b"}, restapi.Connection{From: "b", To: "a"}, restapi.Connection{From: "b", To: n})
	}
	list := parse(t, Graph(g, []restapi.Stage{{Name: "a", Nodes: -3, Finished: 5, Failures: -1}}))
	if n := len(of(list, "draw-box")); n != 4 {
		t.Errorf("%d boxes are drawn, want 4", n)
	}
}

func BenchmarkGraph(b *testing.B) {
	for _, n := range []int{StagesMax, 1000, 10_000} {
		g, progress := big(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(len(Graph(g, progress))), "B-of-SVG")
			}
		})
	}
}

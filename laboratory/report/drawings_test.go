package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// All drawings are well-formed, have names that files can have, and are the same again.
func TestDrawings(t *testing.T) {
	c := Compare(runs(t, 1, 2))
	list, again := c.Drawings(), c.Drawings()
	names := map[string]bool{}
	for i, d := range list {
		names[d.Name] = true
		if strings.Trim(d.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(d.Name) > fileMax+4 {
			t.Errorf("a file is called %q", d.Name)
		}
		if text := checkMarkup(t, d.Name, d.SVG); !strings.Contains(text, "time") && !strings.Contains(text, "slowdown") {
			t.Errorf("%s has no axis with a title", d.Name)
		}
		if !bytes.Equal(d.SVG, again[i].SVG) || d.Name != again[i].Name {
			t.Errorf("%s is other bytes the second time", d.Name)
		}
	}
	for _, want := range []string{"sojourn", "sojourn-class-small", "slowdown", "slots-hfsp-map-by-pool", "slots-fifo-reduce-by-job", "attempts-hfsp"} {
		if !names[want] {
			t.Errorf("there is no %s in %v", want, names)
		}
	}
	if len(names) != len(list) {
		t.Errorf("two of %d drawings have one name", len(list))
	}
	var page bytes.Buffer
	if err := c.HTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		if !bytes.Contains(page.Bytes(), d.SVG) {
			t.Errorf("the page has no %s", d.Name)
		}
	}
}

// Each span of a launcher's kind has a lane in which it is alone, until the lanes are full.
func TestLanes(t *testing.T) {
	w, c := random(3)
	for p := range policies {
		_, r := play(t, w, c, p, nil)
		spans, _ := r.Spans()
		var l lanes
		until := map[int]time.Duration{}
		for _, launcher := range c.Machines() {
			for _, kind := range r.Kinds() {
				for i := range spans {
					s := &spans[i]
					if s.Launcher != launcher.Name || s.Kind != kind {
						continue
					}
					lane, ok := l.take(s)
					if !ok || l.names[lane] != s.Launcher || s.From < until[lane] {
						t.Errorf("%+v is on lane %d (%v) of %q, which is taken until %v", s, lane, ok, l.names, until[lane])
					}
					until[lane] = s.To
				}
			}
		}
		most := 0
		for _, n := range c.Slots() {
			most += n
		}
		if len(l.names) > most {
			t.Errorf("there are %d lanes for %d slots", len(l.names), most)
		}
	}
	var full lanes
	for i := range LanesDrawn + 5 {
		if _, ok := full.take(&Span{Launcher: "a", From: 0, To: time.Duration(i + 1)}); ok != (i < LanesDrawn) {
			t.Errorf("span %d has a lane: %v", i, ok)
		}
	}
}

// A Gantt chart has each launcher whole or not at all, and says how much it leaves out.
func TestAGanttChartHasWholeLaunchers(t *testing.T) {
	for _, c := range []struct {
		launchers, each, slots int
		whole, left            int
	}{
		{4, 10, 2, 4, 0},
		{10, BarsDrawn/3 - 10, 1, 3, 7 * (BarsDrawn/3 - 10)},
		{LanesDrawn, 4, 4, LanesDrawn / 4, (LanesDrawn - LanesDrawn/4) * 4},
		{1, BarsDrawn + 5, 1, 1, 5},
		{2, LanesDrawn + 5, LanesDrawn + 5, 1, 5 + LanesDrawn + 5},
	} {
		r := &Run{Jobs: []Job{{ID: "a"}}, recorder: &Recorder{}}
		for l := range c.launchers {
			for i := range c.each {
				at := time.Duration(i/c.slots) * time.Second
				r.recorder.spans = append(r.recorder.spans, Span{Launcher: fmt.Sprintf("n%03d", l), From: at, To: at + time.Second})
			}
		}
		svg := string(r.gantt())
		whole := strings.Count(svg, `font-size="11">n0`)
		bars := strings.Count(svg, "<title>")
		if want := c.launchers*c.each - c.left; whole != c.whole || bars != want || strings.Contains(svg, fmt.Sprint(c.left, " more are left out")) != (c.left > 0) {
			t.Errorf("%+v: %d launchers and %d bars, want %d", c, whole, bars, want)
		}
	}
}

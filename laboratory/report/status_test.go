package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Numbers of facts and pools are series, in the order in which they were told first. Other facts are
// not, and what was not told is empty.
func TestStatusIsSeries(t *testing.T) {
	r := made("mine", 1, 2, 3)
	r.Status = NewStatusSeries()
	for i := range 3 {
		s := scheduler.Status{Pools: []scheduler.PoolStatus{{Name: "a, b", Kind: "map", FairShare: 1.5, Demand: 4 + i, Running: 2, Jobs: 1}}}
		s.AddFact("queue", i*i)
		s.AddFact("mode", "delay")
		s.AddFact("after", 10*time.Second)
		s.AddFact("share", "NaN")
		if i > 0 {
			s.AddFact("late"+hostile, "1e3")
		}
		r.Status.Add(time.Duration(i)*time.Second, s, nil)
	}
	r.Status.Add(time.Minute, scheduler.Status{}, errors.New("it can't be shown"))
	var b bytes.Buffer
	if err := r.StatusCSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	late := "late" + printable(hostile)
	want := [][]string{
		{"time_s", "queue", "pool a, b, fair share of map slots", "pool a, b, demand of map slots", "pool a, b, running in map slots", "pool a, b, jobs of map slots", late},
		{"0", "0", "1.5", "4", "2", "1", ""},
		{"1", "1", "1.5", "5", "2", "1", "1000"},
		{"2", "4", "1.5", "6", "2", "1", "1000"},
	}
	if fmt.Sprint(rows) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", rows, want)
	}
	var p pictures
	p.statusCharts(r)
	if len(p) != 2 || p[0].Name != "status-mine-queue" || p[1].Name != "status-mine-demand-of-map-slots" {
		t.Errorf("there are %d charts: %v", len(p), p)
	}
	if text := checkMarkup(t, p[1].Name, p[1].SVG); !strings.Contains(text, "1 answers could not be shown") {
		t.Errorf("the last chart is not told what is missing: %s", text)
	}
}

// However long a policy plays and however much it tells, a bounded number of samples and series is
// kept, from the beginning to the end.
func TestStatusIsBounded(t *testing.T) {
	s := NewStatusSeries()
	at, asked := time.Duration(0), 0
	for at < 100*24*time.Hour {
		var told scheduler.Status
		for i := range StatusSeriesMax + 5 {
			told.AddFact(fmt.Sprint("fact", i), asked*(i+1))
		}
		s.Add(at, told, nil)
		at += s.Every()
		asked++
	}
	if len(s.samples) >= StatusSamplesMax || len(s.samples) < StatusSamplesMax/2-1 || len(s.names) != StatusSeriesMax || s.left != 5 {
		t.Errorf("there are %d samples, %d series, and %d are left out", len(s.samples), len(s.names), s.left)
	}
	if first, last := s.samples[0].at, s.samples[len(s.samples)-1].at; first != 0 || last < 99*24*time.Hour {
		t.Errorf("samples are from %v to %v", first, last)
	}
	r := made("mine", 1, 2, 3)
	r.Status = s
	var p pictures
	p.statusCharts(r)
	if len(p) != StatusCharts || strings.Count(string(p[0].SVG), "h6m") > StatusDrawn || len(s.points(0)) > StatusDrawn {
		t.Errorf("there are %d charts with %d points", len(p), len(s.points(0)))
	}
}

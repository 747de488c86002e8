package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/report/drawing"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Bounds of the numbers of a policy's status over time.
const (
	// StatusSeriesMax bounds the numbers that are kept: those that come first.
	StatusSeriesMax = 64
	// StatusSamplesMax bounds the samples. At that many every second one is dropped, and later ones
	// are twice as far apart.
	StatusSamplesMax = 512
	// StatusDrawn bounds the points of a curve, and StatusCharts the charts of a policy.
	StatusDrawn  = 120
	StatusCharts = 12
)

// StatusSeries is the numbers that a policy's status tells over time: facts whose values are
// numbers, and the numbers of its pools.
type StatusSeries struct {
	names   []statusName
	at      map[statusName]int
	samples []statusSample
	every   time.Duration
	left    int // numbers of one status beyond StatusSeriesMax, at most
	failed  int // statuses that could not be shown
}

// statusName names a number: chart is what its curve is drawn with, and line the curve.
type statusName struct{ chart, line string }

func (n statusName) String() string {
	if n.line == "" {
		return n.chart
	}
	return n.line + ", " + n.chart
}

type statusSample struct {
	at     time.Duration
	values []float64 // by name; NaN, or missing at the end: not told
}

// NewStatusSeries has no samples.
func NewStatusSeries() *StatusSeries {
	return &StatusSeries{at: map[statusName]int{}, every: simulation.DefaultStatusEvery}
}

// Every is how far apart samples are to be from now on.
func (s *StatusSeries) Every() time.Duration { return s.every }

// Add adds a sample. An error counts as a status that could not be shown.
func (s *StatusSeries) Add(at time.Duration, status scheduler.Status, err error) {
	if err != nil {
		s.failed++
		return
	}
	sample := statusSample{at: at, values: make([]float64, len(s.names))}
	for i := range sample.values {
		sample.values[i] = math.NaN()
	}
	left := 0
	put := func(name statusName, value float64) {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return
		}
		i, had := s.at[name]
		switch {
		case had:
			sample.values[i] = value
		case len(s.names) == StatusSeriesMax:
			left++
		default:
			s.at[name] = len(s.names)
			s.names = append(s.names, name)
			sample.values = append(sample.values, value)
		}
	}
	for _, f := range status.Facts {
		if value, err := strconv.ParseFloat(f.Value, 64); err == nil {
			put(statusName{chart: f.Name}, value)
		}
	}
	for i := range status.Pools {
		p := &status.Pools[i]
		line := "pool " + p.Name
		put(statusName{"fair share of " + p.Kind + " slots", line}, p.FairShare)
		put(statusName{"demand of " + p.Kind + " slots", line}, float64(p.Demand))
		put(statusName{"running in " + p.Kind + " slots", line}, float64(p.Running))
		put(statusName{"jobs of " + p.Kind + " slots", line}, float64(p.Jobs))
	}
	s.left = max(s.left, left)
	s.samples = append(s.samples, sample)
	if len(s.samples) == StatusSamplesMax {
		s.thin()
	}
}

// thin drops every second sample.
func (s *StatusSeries) thin() {
	kept := s.samples[:0]
	for i := 0; i < StatusSamplesMax; i += 2 {
		kept = append(kept, s.samples[i])
	}
	clear(s.samples[len(kept):])
	s.samples = kept
	s.every *= 2
}

// value is a number of a sample; NaN: it was not told.
func (s *StatusSeries) value(sample, name int) float64 {
	if values := s.samples[sample].values; name < len(values) {
		return values[name]
	}
	return math.NaN()
}

// HasStatus reports whether the policy told numbers.
func (r *Run) HasStatus() bool { return r.Status != nil && len(r.Status.names) > 0 }

// StatusCSV writes a row for each sample, by RFC 4180 with a header: its time and each number.
// Numbers that were not told then are empty.
func (r *Run) StatusCSV(w io.Writer) error {
	s := r.Status
	out := csv.NewWriter(w)
	out.UseCRLF = true
	row := []string{"time_s"}
	for _, n := range s.names {
		row = append(row, printable(n.String()))
	}
	rows := [][]string{row}
	for i := range s.samples {
		row := []string{seconds(s.samples[i].at)}
		for n := range s.names {
			text := ""
			if v := s.value(i, n); !math.IsNaN(v) {
				text = number(v)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return out.WriteAll(rows)
}

// statusCharts draws the numbers that change, those of all pools in one chart.
func (p *pictures) statusCharts(r *Run) {
	s := r.Status
	var charts []string
	for i, n := range s.names {
		if s.changes(i) && !slices.Contains(charts, n.chart) {
			charts = append(charts, n.chart)
		}
	}
	drawn := min(len(charts), StatusCharts)
	for i, chart := range charts[:drawn] {
		title := fmt.Sprintf("Status of %s, seed %d: %s", r.Policy, r.Seed, chart)
		if i == drawn-1 {
			title += s.remark(len(charts) - drawn)
		}
		d := drawing.Lines{Title: title, X: "time (s)", Y: chart}
		for i, n := range s.names {
			if n.chart == chart {
				d.Lines = append(d.Lines, drawing.Points{Name: n.String(), At: s.points(i)})
			}
		}
		p.add("status "+r.Policy+" "+chart, d.SVG())
	}
}

// changes reports whether a number is not always the same.
func (s *StatusSeries) changes(name int) bool {
	first := math.NaN()
	for i := range s.samples {
		v := s.value(i, name)
		if !math.IsNaN(v) && !math.IsNaN(first) && v != first {
			return true
		}
		if math.IsNaN(first) {
			first = v
		}
	}
	return false
}

// points are the points of a curve.
func (s *StatusSeries) points(name int) (list []drawing.Point) {
	step := (len(s.samples) + StatusDrawn - 1) / StatusDrawn
	for i := 0; i < len(s.samples); i += step {
		if v := s.value(i, name); !math.IsNaN(v) {
			list = append(list, drawing.Point{X: s.samples[i].at.Seconds(), Y: v})
		}
	}
	return list
}

// remark tells what is missing, with so many charts that are not drawn; "": nothing is.
func (s *StatusSeries) remark(charts int) string {
	var list []string
	if charts > 0 {
		list = append(list, fmt.Sprintf("%d more are in the CSV alone", charts))
	}
	if s.left > 0 {
		list = append(list, fmt.Sprintf("%d more were told, and are not kept", s.left))
	}
	if s.failed > 0 {
		list = append(list, fmt.Sprintf("%d answers could not be shown", s.failed))
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, "; ") + ")"
}

package charts

import (
	"cmp"
	"html/template"
	"maps"
	"math"
	"slices"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// Bounds of a timeline's drawing.
const (
	// LanesMax is how many lanes are drawn: those with the most running attempts.
	LanesMax = 200
	// TimelineBytesMax bounds the size of a drawing. A larger one joins buckets, to columnsLeast or
	// a little more, and then leaves lanes out.
	TimelineBytesMax = 100_000
	columnsMax       = 400
	columnsLeast     = 6
)

// Timeline draws the running attempts over time: lanes by name, in each the number of attempts as
// height. Below it is a row for each outcome, with a sign where attempts ended so. A line continues
// from a sign while the next buckets have the same.
func Timeline(t restapi.Timeline) template.HTML {
	lanes, join := LanesMax, max(1, (t.Buckets-1)/columnsMax+1)
	for {
		d := newTimeline(&t, lanes, join)
		drawn := d.draw()
		if len(drawn) <= TimelineBytesMax || lanes == 0 {
			return template.HTML(drawn)
		}
		if d.buckets/join > columnsLeast {
			join = max(join+(join+2)/3, join*len(drawn)/TimelineBytesMax/2)
		} else {
			lanes /= 2
		}
	}
}

// lane is a drawn lane. Its values are by column.
type lane struct {
	name    string
	running []float64 // on average
	mean    float64
	ended   [][]int // by outcome
	ends    []int   // sums of these
}

// outcomes are the known outcomes, by their rows. Any other outcome counts as the last.
var outcomes = [...]struct {
	name string
	sign
}{
	{"failed", sign{"l6 6m0-6l-6 6", point{-3, -3}, point{-3, 3}}},
	{"lost", sign{"l3-3 3 3-3 3z", point{-3, 0}, point{-3, 0}}},
	{"preempted", sign{"l3 6h-6z", point{0, -3}, point{0, -3}}},
	{"killed", sign{"h6v6h-6z", point{-3, -3}, point{-3, -3}}},
	{"finished", sign{"v6", point{0, -3}, point{0, 3}}},
	{"other", sign{"h6m-3-3v6", point{-3, 0}, point{0, 3}}},
}

// outcomeOf is the row of an outcome.
func outcomeOf(name string) int {
	for i, o := range outcomes {
		if o.name == name {
			return i
		}
	}
	return len(outcomes) - 1
}

// newTimeline joins so many buckets each, and picks at most so many lanes.
func newTimeline(t *restapi.Timeline, lanes, join int) *timeline {
	d := &timeline{buckets: min(max(t.Buckets, 1), math.MaxInt32), join: join, all: len(t.Lanes) + max(t.LanesLeftOut, 0), from: t.From, long: max(t.To.Sub(t.From), 0)}
	for _, l := range t.Lanes {
		d.lanes = append(d.lanes, d.lane(l))
	}
	slices.SortStableFunc(d.lanes, func(a, b lane) int { return cmp.Or(cmp.Compare(b.mean, a.mean), cmp.Compare(a.name, b.name)) })
	d.lanes = d.lanes[:min(lanes, len(d.lanes))]
	if len(d.lanes) > 0 {
		d.busiest = d.lanes[0].name
	}
	slices.SortStableFunc(d.lanes, func(a, b lane) int { return cmp.Compare(a.name, b.name) })
	for _, l := range d.lanes {
		d.most = max(d.most, slices.Max(l.running))
		for o, n := range l.ends {
			d.ends[o] += n
		}
	}
	for o, n := range d.ends {
		if n > 0 {
			d.rows = append(d.rows, o)
		}
	}
	return d
}

// lane joins the buckets of a lane.
func (d *timeline) lane(l restapi.Lane) lane {
	columns := (d.buckets + d.join - 1) / d.join
	r := lane{name: l.Name, running: make([]float64, columns), ended: make([][]int, len(outcomes)), ends: make([]int, len(outcomes))}
	for b, v := range l.Running[:min(len(l.Running), d.buckets)] {
		if v := float64(v); v > 0 && !math.IsInf(v, 1) {
			c := b / d.join
			r.running[c] += v / float64(min(d.join, d.buckets-c*d.join))
			r.mean += v / float64(d.buckets)
		}
	}
	if l.Ended == nil {
		return r
	}
	for _, name := range slices.Sorted(maps.Keys(*l.Ended)) {
		o := outcomeOf(name)
		if r.ended[o] == nil {
			r.ended[o] = make([]int, columns)
		}
		counts := (*l.Ended)[name]
		for b, n := range counts[:min(len(counts), d.buckets)] {
			r.ended[o][b/d.join] += max(n, 0)
			r.ends[o] += max(n, 0)
		}
	}
	return r
}

// Package timeline computes the slots that each party holds over time, from the starts and ends of
// its attempts. It prints a table and draws a stacked chart.
package timeline

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Span is one attempt: it held Slots slots of a party from Start to End.
type Span struct {
	Party      string
	Slots      int
	Start, End time.Duration // since the beginning of the experiment
}

// Step is how many slots each party holds from At on, until the next step.
type Step struct {
	At     time.Duration
	Counts []int // by party
}

// Line is what all parties hold over time.
type Line struct {
	Parties []string
	Steps   []Step // ascending; the first at or before all spans, the last with nothing held
	spans   []Span
}

// New makes a time line. Spans of other parties are left out; the parties' order is that of the
// stack, from below.
func New(parties []string, spans []Span) Line {
	l := Line{Parties: parties}
	type change struct {
		at    time.Duration
		party int
		by    int
	}
	var changes []change
	for _, s := range spans {
		p := slices.Index(parties, s.Party)
		if p < 0 || s.End <= s.Start {
			continue
		}
		l.spans = append(l.spans, s)
		changes = append(changes, change{s.Start, p, s.Slots}, change{s.End, p, -s.Slots})
	}
	// Ends precede beginnings of the same moment: a slot changes hands.
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	counts := make([]int, len(parties))
	for i, c := range changes {
		counts[c.party] += c.by
		if i+1 == len(changes) || changes[i+1].at != c.at {
			l.Steps = append(l.Steps, Step{c.at, slices.Clone(counts)})
		}
	}
	return l
}

// At returns what each party holds at a moment.
func (l Line) At(t time.Duration) []int {
	i, _ := slices.BinarySearchFunc(l.Steps, t, func(s Step, t time.Duration) int {
		if s.At <= t {
			return -1
		}
		return 1
	})
	if i == 0 {
		return make([]int, len(l.Parties))
	}
	return l.Steps[i-1].Counts
}

// End is the time when the last party releases its last slot.
func (l Line) End() time.Duration {
	if len(l.Steps) == 0 {
		return 0
	}
	return l.Steps[len(l.Steps)-1].At
}

// Mean returns how many slots each party holds on average between two moments.
func (l Line) Mean(from, to time.Duration) []float64 {
	mean := make([]float64, len(l.Parties))
	for _, s := range l.spans {
		if both := min(s.End, to) - max(s.Start, from); both > 0 {
			mean[slices.Index(l.Parties, s.Party)] += float64(s.Slots) * float64(both) / float64(to-from)
		}
	}
	return mean
}

// First returns the first moment, from t on, from which the parties hold exactly these counts for
// at least atLeast; false when there is none.
func (l Line) First(from time.Duration, counts []int, atLeast time.Duration) (time.Duration, bool) {
	for i, s := range l.Steps {
		next := l.End()
		if i+1 < len(l.Steps) {
			next = l.Steps[i+1].At
		}
		start := max(s.At, from)
		if slices.Equal(s.Counts, counts) && next-start >= atLeast {
			return start, true
		}
	}
	return 0, false
}

// Table writes what the parties hold at equal intervals. Rows equal to the previous one are left
// out.
func (l Line) Table(w io.Writer, every time.Duration) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "time\t%s\tall\t\n", strings.Join(l.Parties, "\t"))
	var before []int
	for at := time.Duration(0); at < l.End()+every; at += every {
		counts := l.At(at)
		if slices.Equal(counts, before) {
			continue
		}
		before = counts
		all := 0
		fmt.Fprintf(t, "%.2fs\t", at.Seconds())
		for _, n := range counts {
			fmt.Fprintf(t, "%d\t", n)
			all += n
		}
		fmt.Fprintf(t, "%d\t\n", all)
	}
	return t.Flush()
}

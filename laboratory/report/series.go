package report

import (
	"math"
	"slices"
	"time"
)

// Bounds of a series.
const (
	// ChangesMax is how many changes a series keeps exactly: 16 MiB.
	ChangesMax = 1 << 20
	// BinsMax bounds the intervals that are kept beyond that.
	BinsMax = 4096
)

// Series is the number of slots that each of some parties holds over time. It is exact up to
// ChangesMax changes. Beyond, it has the means of at most BinsMax equal intervals.
type Series struct {
	Parties []string
	changes []change // exact, ascending in time
	most    int      // of them
	level   []int    // now
	moved   time.Duration
	bins    [][]float64 // slots times seconds of each party; nil while the series is exact
	width   time.Duration
}

// change is a change of a party's level.
type change struct {
	at        time.Duration
	party, by int32
}

// Step is what the parties hold from At until To.
type Step struct {
	At, To time.Duration
	Slots  []float64 // by party
}

func newSeries(parties []string, most int) *Series {
	return &Series{Parties: parties, most: most, level: make([]int, len(parties))}
}

// add changes a party's slots by a number. Times do not decrease.
func (s *Series) add(at time.Duration, party, by int) {
	if s.bins == nil {
		s.changes = append(s.changes, change{at, int32(party), int32(by)})
		s.level[party] += by
		s.moved = at
		if len(s.changes) >= s.most {
			s.coarsen()
		}
		return
	}
	s.fill(at)
	s.level[party] += by
}

// Exact reports whether the series has every change.
func (s *Series) Exact() bool { return s.bins == nil }

// coarsen replaces exact changes by means.
func (s *Series) coarsen() {
	s.width = max(s.moved/(BinsMax/2), 1)
	s.bins = [][]float64{}
	s.moved = 0
	changes := s.changes
	s.changes = nil
	clear(s.level)
	for _, c := range changes {
		s.fill(c.at)
		s.level[c.party] += int(c.by)
	}
}

// fill adds the current level to all bins up to a time, and doubles the bins' width when there are
// too many.
func (s *Series) fill(until time.Duration) {
	for s.moved < until {
		i := int(s.moved / s.width)
		if i >= BinsMax {
			s.halve()
			continue
		}
		for len(s.bins) <= i {
			s.bins = append(s.bins, make([]float64, len(s.Parties)))
		}
		end := min(time.Duration(i+1)*s.width, until)
		for p, n := range s.level {
			s.bins[i][p] += float64(float64(n) * (end - s.moved).Seconds())
		}
		s.moved = end
	}
}

// halve joins each two bins.
func (s *Series) halve() {
	half := make([][]float64, 0, BinsMax)
	for i := 0; i < len(s.bins); i += 2 {
		both := s.bins[i]
		if i+1 < len(s.bins) {
			for p, x := range s.bins[i+1] {
				both[p] += x
			}
		}
		half = append(half, both)
	}
	s.bins, s.width = half, 2*s.width
}

// each visits the steps in order. It reuses the slice of a step's slots.
func (s *Series) each(do func(Step)) {
	level := make([]float64, len(s.Parties))
	for i := range s.bins {
		from := time.Duration(i) * s.width
		step := Step{from, min(from+s.width, s.moved), level}
		for p, x := range s.bins[i] {
			level[p] = x / (step.To - from).Seconds()
		}
		do(step)
	}
	for i, c := range s.changes {
		level[c.party] += float64(c.by)
		if i+1 < len(s.changes) && s.changes[i+1].at > c.at {
			do(Step{c.at, s.changes[i+1].at, level})
		}
	}
}

// Steps are the steps from the first change to the last, without gaps. They are exact if there are
// at most most, else means of that many equal intervals.
func (s *Series) Steps(most int) []Step {
	n, from, to := 0, time.Duration(0), time.Duration(0)
	s.each(func(step Step) {
		if n == 0 {
			from = step.At
		}
		to = step.To
		n++
	})
	width := time.Duration(0)
	if n > most {
		width = time.Duration(math.Ceil(float64(to-from) / float64(most)))
	}
	var out []Step
	s.each(func(step Step) {
		if width == 0 {
			step.Slots = slices.Clone(step.Slots)
			out = append(out, step)
			return
		}
		for at := step.At; at < step.To; {
			i := int((at - from) / width)
			for len(out) <= i {
				begin := from + time.Duration(len(out))*width
				out = append(out, Step{begin, min(begin+width, to), make([]float64, len(s.Parties))})
			}
			at = out[i].take(step, at)
		}
	})
	return out
}

// take adds the part of another step that belongs to this mean, from a time on, and returns that
// part's end.
func (s *Step) take(other Step, at time.Duration) time.Duration {
	end := min(s.To, other.To)
	share := float64(end-at) / float64(s.To-s.At)
	for p, n := range other.Slots {
		s.Slots[p] += float64(n * share)
	}
	return end
}

// Held is the slot time of each party, in seconds.
func (s *Series) Held() []float64 {
	sum := make([]float64, len(s.Parties))
	s.each(func(step Step) {
		for p, n := range step.Slots {
			sum[p] += float64(n * (step.To - step.At).Seconds())
		}
	})
	return sum
}

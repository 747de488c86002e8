package queueing

import (
	"cmp"
	"math"
	"slices"
)

// Discipline selects the jobs that the server serves.
type Discipline uint8

// The disciplines.
const (
	// FIFO serves the job that came first.
	FIFO Discipline = iota
	// PS is processor sharing: all jobs share the server by their weights.
	PS
	// SRPT serves the job with the shortest remaining processing time, by its estimate.
	SRPT
	// FSP is the fair sojourn protocol (HFSP's document, section 2.1). It serves the job that
	// processor sharing of the estimates would end first. A job that processor sharing would have
	// ended by now is late, and precedes all others.
	FSP
	// FSPSharing is FSP under which late jobs share the server by their weights.
	FSPSharing
)

// Visit is a job that arrives at the server. Times and sizes are in one unit.
type Visit struct {
	At, Size float64
	// Estimate is the size that the discipline assumes.
	Estimate float64
	// Weight is above 0.
	Weight float64
}

// Serve returns the end of each job. Visits are in order of arrival, which breaks the discipline's
// ties.
func Serve(d Discipline, visits []Visit) []float64 {
	s := server{discipline: d, ends: make([]float64, len(visits))}
	for come := 0; come < len(visits) || len(s.here) > 0; {
		if len(s.here) == 0 && len(s.virtual) == 0 {
			s.now = max(s.now, visits[come].At)
		}
		for ; come < len(visits) && visits[come].At <= s.now; come++ {
			s.come(come, visits[come])
		}
		next := math.Inf(1)
		if come < len(visits) {
			next = visits[come].At
		}
		s.serve(next)
	}
	return s.ends
}

// MeanSojourn is the mean of the times from jobs' coming to their ends.
func MeanSojourn(visits []Visit, ends []float64) float64 {
	sum := 0.0
	for i, end := range ends {
		sum += end - visits[i].At
	}
	return sum / float64(len(ends))
}

// job is a job that has arrived.
type job struct {
	Visit
	nth     int
	left    float64 // of its size
	told    float64 // of its estimate
	virtual float64 // of its estimate, under processor sharing
	late    int     // rank in which processor sharing ended it, from 1; 0: not yet
	rate    float64 // of the server, now
}

type server struct {
	discipline Discipline
	now        float64
	here       []*job // not ended
	virtual    []*job // not ended under processor sharing of the estimates
	passed     int    // jobs that were
	ends       []float64
}

func (s *server) come(nth int, v Visit) {
	j := &job{Visit: v, nth: nth, left: v.Size, told: v.Estimate, virtual: v.Estimate}
	s.here = append(s.here, j)
	if s.discipline == FSP || s.discipline == FSPSharing {
		s.virtual = append(s.virtual, j)
	}
}

// serve lets time pass until something changes, and until next at most.
func (s *server) serve(next float64) {
	s.divide()
	passes := next - s.now
	for _, j := range s.here {
		if j.rate > 0 {
			passes = min(passes, j.left/j.rate)
		}
	}
	weights := 0.0
	for _, j := range s.virtual {
		weights += j.Weight
	}
	for _, j := range s.virtual {
		passes = min(passes, j.virtual*weights/j.Weight)
	}
	s.now = min(s.now+passes, next)
	s.virtual = slices.DeleteFunc(s.virtual, func(j *job) bool {
		j.virtual -= passes * j.Weight / weights
		if j.virtual > rounding*j.Estimate {
			return false
		}
		s.passed++
		j.late = s.passed
		return true
	})
	s.here = slices.DeleteFunc(s.here, func(j *job) bool {
		j.left, j.told = j.left-passes*j.rate, j.told-passes*j.rate
		if j.left > rounding*j.Size {
			return false
		}
		s.ends[j.nth] = s.now
		return true
	})
}

// rounding is the share of a job that counts as nothing.
const rounding = 1e-12

// divide divides the server among the discipline's first jobs.
func (s *server) divide() {
	if len(s.here) == 0 {
		return
	}
	first := slices.MinFunc(s.here, s.compare)
	share := func(j *job) bool { return j == first }
	switch {
	case s.discipline == PS:
		share = func(*job) bool { return true }
	case s.discipline == FSPSharing && first.late > 0:
		share = func(j *job) bool { return j.late > 0 }
	}
	weights := 0.0
	for _, j := range s.here {
		if j.rate = 0; share(j) {
			j.rate = j.Weight
			weights += j.Weight
		}
	}
	for _, j := range s.here {
		j.rate /= weights
	}
}

// compare orders jobs by the discipline.
func (s *server) compare(a, b *job) int {
	switch s.discipline {
	case SRPT:
		return cmp.Or(cmp.Compare(a.told, b.told), cmp.Compare(a.nth, b.nth))
	case FSP, FSPSharing:
		if a.late > 0 || b.late > 0 {
			return cmp.Compare(uint(a.late-1), uint(b.late-1)) // jobs that are not late come last
		}
		return cmp.Or(cmp.Compare(a.virtual/a.Weight, b.virtual/b.Weight), cmp.Compare(a.nth, b.nth))
	}
	return cmp.Compare(a.nth, b.nth)
}

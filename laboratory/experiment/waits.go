package experiment

import "time"

// waits measures for how long each job holds no slot between its submission and its end.
type waits struct {
	held    []int           // attempts that hold slots
	since   []time.Duration // when the present wait began
	longest []time.Duration
}

func newWaits(jobs int) *waits {
	return &waits{held: make([]int, jobs), since: make([]time.Duration, jobs), longest: make([]time.Duration, jobs)}
}

// hold records that an attempt of a job holds its slots, or no longer.
func (w *waits) hold(at time.Duration, job int, holds bool) {
	if holds {
		if w.held[job]++; w.held[job] == 1 {
			w.longest[job] = max(w.longest[job], at-w.since[job])
		}
		return
	}
	if w.held[job]--; w.held[job] == 0 {
		w.since[job] = at
	}
}

// end records a job's end.
func (w *waits) end(at time.Duration, job int) {
	if w.held[job] == 0 {
		w.longest[job] = max(w.longest[job], at-w.since[job])
	}
}

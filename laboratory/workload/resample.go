package workload

import (
	"math"
	"slices"
)

// resampling is the purpose of the random stream of Resample.
const resampling uint64 = 0x61_10

// Resample returns the workload with other times of submission. The jobs and their order are the
// same. So one trace gives many workloads, and intervals over seeds say how much a figure owes to
// the times at which the trace's jobs came.
//
// The times between submissions are a bootstrap of those of the workload: blocks of consecutive
// ones are drawn with replacement (Künsch 1989, "The jackknife and the bootstrap for general
// stationary observations"; circular, after Politis and Romano 1992). Of n times a block has the
// cube root of n, rounded up, so that bursts stay bursts. The first job keeps its time. The span
// differs from seed to seed. The result depends on workload and seed alone.
//
// The tasks are shared with the original. An end beyond SubmitMax is cut off there.
func (w *Workload) Resample(seed uint64) *Workload {
	n := len(w.Jobs) - 1
	made := *w
	made.Jobs = slices.Clone(w.Jobs)
	if n < 1 {
		return &made
	}
	r := NewRand(seed, resampling)
	length := int(math.Ceil(math.Cbrt(float64(n)) - 1e-9)) // the cube root of 27 is 3 on all machines
	at := w.Jobs[0].Submit
	for i := 0; i < n; {
		for k, left := r.Below(n), length; left > 0 && i < n; left-- {
			gap := w.Jobs[k%n+1].Submit - w.Jobs[k%n].Submit
			at = min(at+gap, SubmitMax)
			i++
			made.Jobs[i].Submit = at
			k++
		}
	}
	return &made
}

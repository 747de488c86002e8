package queueing

import "github.com/hamadryad/hamadryad/laboratory/workload"

// shuffled is the cost of a shuffled byte relative to a byte on disk: it goes over the disk, and
// over a network of a quarter of its speed.
const shuffled = 5

// Visits are the first jobs of a workload as visits of a server that knows their sizes, in seconds.
// A job's size is the bytes that it reads and writes, plus its shuffled bytes, weighted by their
// cost. Sizes are scaled to the wanted load: all work over the time until the last job arrives.
func Visits(w *workload.Workload, jobs int, load float64) []Visit {
	list := make([]Visit, min(jobs, len(w.Jobs)))
	all := 0.0
	for i := range list {
		j := &w.Jobs[i]
		list[i] = Visit{At: j.Submit.Seconds(), Size: float64(bytes(j)), Weight: 1}
		all += list[i].Size
	}
	for i := range list {
		list[i].Size *= load * list[len(list)-1].At / all
		list[i].Estimate = list[i].Size
	}
	return list
}

func bytes(j *workload.Job) (n int64) {
	for s := range j.Stages {
		for _, t := range j.Stages[s].Tasks {
			n += t.Input + shuffled*t.Shuffle
			if s == len(j.Stages)-1 { // a map's output is shuffled
				n += t.Output
			}
		}
	}
	return n
}

package fifo

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/queueorder"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// state is the queue. It follows from the view, so no checkpoint keeps it.
type state struct {
	queue   []*view.Job // live jobs, in order
	waiting []*view.Job // those of the queue that may have something to launch or to report
	placer  locality.Placer
}

// update follows the events of a round. It first removes jobs that ended or moved: the rest is in order.
func (s *state) update(p *pass) {
	gone := map[scheduler.JobID]bool{}
	for _, e := range p.Events() {
		switch e := e.(type) {
		case scheduler.JobUpdated:
			gone[e.Job] = true
		case scheduler.JobFinished:
			gone[e.Job] = true
		}
	}
	if len(gone) > 0 {
		out := func(j *view.Job) bool { return gone[j.ID()] }
		s.queue, s.waiting = slices.DeleteFunc(s.queue, out), slices.DeleteFunc(s.waiting, out)
	}
	for _, e := range p.Events() {
		switch e := e.(type) {
		case scheduler.JobSubmitted:
			s.enqueue(p.Job(e.Job.ID))
		case scheduler.JobUpdated:
			s.enqueue(p.Job(e.Job))
		case scheduler.BundleReady:
			s.enqueue(p.Job(e.Job))
		case scheduler.SpeculationOffered:
			s.enqueue(p.Job(e.Job))
		}
	}
}

// enqueue adds a job to both lists. Nil is one that ended in the same round.
func (s *state) enqueue(j *view.Job) {
	if j != nil {
		s.queue, s.waiting = insert(s.queue, j), insert(s.waiting, j)
	}
}

// insert inserts a job into an ordered list, if it is not in it.
func insert(list []*view.Job, j *view.Job) []*view.Job {
	if n := len(list); n > 0 && queueorder.ByPriority(list[n-1], j) < 0 { // the usual case for new jobs
		return append(list, j)
	}
	if i, found := slices.BinarySearchFunc(list, j, queueorder.ByPriority); !found {
		return slices.Insert(list, i, j)
	}
	return list
}

// placeIn returns a job's position in an ordered list, counted from 1.
func placeIn(list []*view.Job, j *view.Job) int {
	i, _ := slices.BinarySearchFunc(list, j, queueorder.ByPriority)
	return i + 1
}

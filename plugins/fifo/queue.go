package fifo

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/queueorder"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// requeue updates the queue after a round that the view has applied. It first removes jobs that
// ended or moved: the rest is in order.
func (p *Policy) requeue(events []scheduler.Event) {
	gone := map[scheduler.JobID]bool{}
	for _, e := range events {
		switch e := e.(type) {
		case scheduler.JobUpdated:
			gone[e.Job] = true
		case scheduler.JobFinished:
			gone[e.Job] = true
			delete(p.reasons, e.Job)
		}
	}
	if len(gone) > 0 {
		out := func(j *view.Job) bool { return gone[j.ID()] }
		p.queue, p.waiting = slices.DeleteFunc(p.queue, out), slices.DeleteFunc(p.waiting, out)
	}
	for _, e := range events {
		switch e := e.(type) {
		case scheduler.JobSubmitted:
			p.enqueue(e.Job.ID)
		case scheduler.JobUpdated:
			p.enqueue(e.Job)
		case scheduler.BundleReady:
			p.enqueue(e.Job)
		case scheduler.SpeculationOffered:
			p.enqueue(e.Job)
		}
	}
}

// enqueue adds a job to the queue, and to the waiting jobs if it waits, unless it ended in the
// same round.
func (p *Policy) enqueue(id scheduler.JobID) {
	j := p.view.Job(id)
	if j == nil {
		return
	}
	p.queue = insert(p.queue, j)
	if j.ReadyCount() > 0 || p.reasons[id] != scheduler.WaitNone {
		p.waiting = insert(p.waiting, j)
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

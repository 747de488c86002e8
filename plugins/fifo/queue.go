package fifo

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// before orders jobs: priority, then time of submission, then id.
func before(a, b *view.Job) int {
	return cmp.Or(
		cmp.Compare(b.Info.Priority, a.Info.Priority),
		cmp.Compare(a.Info.Submitted, b.Info.Submitted),
		cmp.Compare(a.Info.ID, b.Info.ID),
	)
}

// requeue brings the queue up to date with a round that the view has applied.
func (p *Policy) requeue(events []scheduler.Event) {
	for _, e := range events {
		switch e := e.(type) {
		case scheduler.JobSubmitted:
			p.enqueue(e.Job.ID)
		case scheduler.JobUpdated:
			p.dequeue(e.Job)
			p.enqueue(e.Job)
		case scheduler.JobFinished:
			p.dequeue(e.Job)
			delete(p.reasons, e.Job)
		}
	}
}

func (p *Policy) enqueue(id scheduler.JobID) {
	j := p.view.Job(id)
	if j == nil || slices.Contains(p.queue, j) {
		return // ended in the same round, or updated in the round it came in
	}
	i, _ := slices.BinarySearchFunc(p.queue, j, before)
	p.queue = slices.Insert(p.queue, i, j)
}

func (p *Policy) dequeue(id scheduler.JobID) {
	p.queue = slices.DeleteFunc(p.queue, func(j *view.Job) bool { return j.ID() == id })
}

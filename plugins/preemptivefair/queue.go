package preemptivefair

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/heap"
)

// queue holds the requests of a kind that are not done.
type queue struct {
	requests  heap.Heap[*request] // the one with the fewest slots first, of equals the one that was submitted first
	due       []*request          // that were due part of their first share as the round began, in order of submission
	newcomers []*request          // those of them that may still be
}

func newQueue() *queue {
	return &queue{requests: heap.Heap[*request]{
		Before: func(a, b *request) bool {
			return a.held < b.held || a.held == b.held && bySubmission(a.job, b.job) < 0
		},
		Moved: func(c *request, at int) { c.at = at },
	}}
}

// begin begins a round, with all requests that are due a first share.
func (q *queue) begin() {
	slices.SortFunc(q.due, func(a, b *request) int { return bySubmission(a.job, b.job) })
	q.newcomers = q.due
}

// put adds a request, or restores the order after it changed.
func (q *queue) put(c *request) {
	if c.at < 0 {
		q.requests.Push(c)
	} else {
		q.requests.Fix(c.at)
	}
}

// next returns the request that gets the next slot: a newcomer's, or the one with the fewest
// slots; nil: none.
func (q *queue) next() *request {
	for len(q.newcomers) > 0 && (q.newcomers[0].left == 0 || q.newcomers[0].done) {
		q.newcomers = q.newcomers[1:]
	}
	switch {
	case len(q.newcomers) > 0:
		return q.newcomers[0]
	case len(q.requests.Items) > 0:
		return q.requests.Items[0]
	}
	return nil
}

// moved restores the order after a request's slots changed.
func (q *queue) moved(c *request) {
	if c.at >= 0 {
		q.requests.Fix(c.at)
	}
}

// leave removes a request that is done.
func (q *queue) leave(c *request) {
	if c.at >= 0 {
		q.requests.Remove(c.at)
		c.at = -1
	}
}

package preemptivefair

import "github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/heap"

// queue holds the requests of a kind that are not done.
type queue struct {
	requests  heap.Heap[*request] // the one with the fewest slots first, of equals the one that was submitted first
	newcomers []*request          // that were due part of their first share, in order of submission
}

// fill refills the queue.
func (q *queue) fill(requests []*request) {
	q.requests.Items, q.newcomers = append(q.requests.Items[:0], requests...), q.newcomers[:0]
	q.requests.Before = func(a, b *request) bool { return a.held < b.held || a.held == b.held && a.nth < b.nth }
	q.requests.Moved = func(c *request, at int) { c.at = at }
	q.requests.Init()
	for _, c := range requests {
		if c.left > 0 {
			q.newcomers = append(q.newcomers, c)
		}
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

package preemptivefair

import "container/heap"

// queue holds the requests of a kind that are not done: the one with the fewest slots
// first, of equals the one that was submitted first.
type queue struct {
	requests  []*request
	newcomers []*request // that were due part of their first share, in order of submission
}

// fill begins anew.
func (q *queue) fill(requests []*request) {
	q.requests, q.newcomers = append(q.requests[:0], requests...), q.newcomers[:0]
	for i, c := range q.requests {
		c.at = i
		if c.left > 0 {
			q.newcomers = append(q.newcomers, c)
		}
	}
	heap.Init(q)
}

// next returns who gets the next slot, or nil: a newcomer, or the one with the fewest.
func (q *queue) next() *request {
	if c := q.newcomer(); c != nil {
		return c
	}
	return q.first()
}

// newcomer returns the first that lacks part of its first share, or nil.
func (q *queue) newcomer() *request {
	for len(q.newcomers) > 0 && (q.newcomers[0].left == 0 || q.newcomers[0].done) {
		q.newcomers = q.newcomers[1:]
	}
	if len(q.newcomers) == 0 {
		return nil
	}
	return q.newcomers[0]
}

// first returns the one with the fewest slots, or nil.
func (q *queue) first() *request {
	if len(q.requests) == 0 {
		return nil
	}
	return q.requests[0]
}

// moved puts a request where it belongs after its slots changed.
func (q *queue) moved(c *request) {
	if c.at >= 0 {
		heap.Fix(q, c.at)
	}
}

// leave takes a request out that is done.
func (q *queue) leave(c *request) {
	if c.at >= 0 {
		heap.Remove(q, c.at)
	}
}

// Len implements heap.Interface.
func (q *queue) Len() int { return len(q.requests) }

// Less implements heap.Interface.
func (q *queue) Less(i, j int) bool {
	a, b := q.requests[i], q.requests[j]
	return a.held < b.held || a.held == b.held && a.nth < b.nth
}

// Swap implements heap.Interface.
func (q *queue) Swap(i, j int) {
	q.requests[i], q.requests[j] = q.requests[j], q.requests[i]
	q.requests[i].at, q.requests[j].at = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) { panic("requests are all there from the beginning") }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(q.requests) - 1
	c := q.requests[last]
	q.requests, c.at = q.requests[:last], -1
	return c
}

package preemptivefair

import "container/heap"

// queue holds the claims of a kind that are not done: the one with the fewest slots
// first, of equals the one that was submitted first.
type queue struct {
	claims    []*claim
	newcomers []*claim // that were due part of their first share, in order of submission
}

// fill begins anew.
func (q *queue) fill(claims []*claim) {
	q.claims, q.newcomers = append(q.claims[:0], claims...), q.newcomers[:0]
	for i, c := range q.claims {
		c.at = i
		if c.left > 0 {
			q.newcomers = append(q.newcomers, c)
		}
	}
	heap.Init(q)
}

// newcomer returns the first that lacks part of its first share, or nil.
func (q *queue) newcomer() *claim {
	for len(q.newcomers) > 0 && (q.newcomers[0].left == 0 || q.newcomers[0].done) {
		q.newcomers = q.newcomers[1:]
	}
	if len(q.newcomers) == 0 {
		return nil
	}
	return q.newcomers[0]
}

// first returns the one with the fewest slots, or nil.
func (q *queue) first() *claim {
	if len(q.claims) == 0 {
		return nil
	}
	return q.claims[0]
}

// moved puts a claim where it belongs after its slots changed.
func (q *queue) moved(c *claim) {
	if c.at >= 0 {
		heap.Fix(q, c.at)
	}
}

// leave takes a claim out that is done.
func (q *queue) leave(c *claim) {
	if c.at >= 0 {
		heap.Remove(q, c.at)
	}
}

// Len implements heap.Interface.
func (q *queue) Len() int { return len(q.claims) }

// Less implements heap.Interface.
func (q *queue) Less(i, j int) bool {
	a, b := q.claims[i], q.claims[j]
	return a.held < b.held || a.held == b.held && a.nth < b.nth
}

// Swap implements heap.Interface.
func (q *queue) Swap(i, j int) {
	q.claims[i], q.claims[j] = q.claims[j], q.claims[i]
	q.claims[i].at, q.claims[j].at = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) { panic("claims are all there from the beginning") }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(q.claims) - 1
	c := q.claims[last]
	q.claims, c.at = q.claims[:last], -1
	return c
}

// Package timerqueue holds timers and returns them in order: the earliest first, and timers of one
// time in the order in which they were added. The clock of virtual time and the core's timers spend
// much of their time here. So values are in one array, and a timer costs no allocation.
package timerqueue

import "slices"

// Item is a value that is due at a time.
type Item[T any] struct {
	At  int64
	Seq uint64 // the earlier Put has the smaller one
	T   T
}

// before is the order.
func (x *Item[T]) before(y *Item[T]) bool { return x.At < y.At || x.At == y.At && x.Seq < y.Seq }

// Queue holds items. The zero value is empty. Not safe for concurrent use.
type Queue[T any] struct {
	heap []Item[T] // no item is before its parent; the children of i begin at ways*i+1
	last uint64    // seq given last
}

// ways is the number of children of an item: four lie in one or two cache lines, and need half as
// many levels as two.
const ways = 4

// Len is how many items there are.
func (q *Queue[T]) Len() int { return len(q.heap) }

// Last is the last sequence number.
func (q *Queue[T]) Last() uint64 { return q.last }

// First returns the next item; the queue must not be empty.
func (q *Queue[T]) First() *Item[T] { return &q.heap[0] }

// Put adds a value that is due at a time.
func (q *Queue[T]) Put(at int64, value T) {
	q.last++
	x := Item[T]{at, q.last, value}
	q.heap = append(q.heap, x)
	i := len(q.heap) - 1
	for i > 0 {
		parent := (i - 1) / ways
		if !x.before(&q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = x
}

// Take removes and returns the first item; the queue must not be empty.
func (q *Queue[T]) Take() Item[T] {
	first := q.heap[0]
	n := len(q.heap) - 1
	x := q.heap[n]
	q.heap[n] = Item[T]{} // releases the taken value
	q.heap = q.heap[:n]
	if n > 0 {
		q.sink(x)
	}
	return first
}

// sink puts an item in the first place, or further down where it belongs.
func (q *Queue[T]) sink(x Item[T]) {
	h := q.heap
	i := 0
	for {
		child := ways*i + 1
		if child >= len(h) {
			break
		}
		least := child
		for c := child + 1; c < min(child+ways, len(h)); c++ {
			if h[c].before(&h[least]) {
				least = c
			}
		}
		if !h[least].before(&x) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = x
}

// Sorted lists all items in order.
func (q *Queue[T]) Sorted() []Item[T] {
	list := slices.Clone(q.heap)
	slices.SortFunc(list, func(x, y Item[T]) int {
		if x.before(&y) {
			return -1
		}
		return 1
	})
	return list
}

// Clone returns an independent copy.
func (q *Queue[T]) Clone() Queue[T] { return Queue[T]{slices.Clone(q.heap), q.last} }

// Restore makes a queue of Sorted's list and Last's number.
func Restore[T any](list []Item[T], last uint64) Queue[T] { return Queue[T]{list, last} }

// Package timerqueue holds timers and returns them in order: the earliest first, and timers of one
// time in the order in which they were added. The clock of virtual time and the core's timers spend
// much of their time here. So values are in one array, and a timer costs no allocation.
package timerqueue

import "slices"

// Item is a value that is due at a time.
type Item[T any] struct {
	At  int64
	Seq uint64 // what was put in first has the smaller one
	T   T
}

// before is the order.
func (x *Item[T]) before(y *Item[T]) bool { return x.At < y.At || x.At == y.At && x.Seq < y.Seq }

// Queue holds items. The zero value is empty. Not safe for concurrent use.
type Queue[T any] struct {
	heap []Item[T] // each is not before its parent; the children of i begin at ways*i+1
	last uint64    // seq given last
}

// ways is how many children an item has: four lie in one or two lines of the cache, and
// make half as many levels as two.
const ways = 4

// Len is how many items there are.
func (q *Queue[T]) Len() int { return len(q.heap) }

// Last is the number that was given last.
func (q *Queue[T]) Last() uint64 { return q.last }

// First returns the item that is next, of some that are there.
func (q *Queue[T]) First() *Item[T] { return &q.heap[0] }

// Put puts in a value that is due at a time.
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

// Take takes the first item out, of some that are there.
func (q *Queue[T]) Take() Item[T] {
	first := q.heap[0]
	n := len(q.heap) - 1
	x := q.heap[n]
	q.heap[n] = Item[T]{} // nothing is to hold what was taken
	q.heap = q.heap[:n]
	if n > 0 {
		q.sink(x)
	}
	return first
}

// sink puts an item in the first place, or where it belongs below it.
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

// Clone returns a copy that stays while this one changes.
func (q *Queue[T]) Clone() Queue[T] { return Queue[T]{slices.Clone(q.heap), q.last} }

// Restore makes a queue of what Sorted listed, and of what Last said.
func Restore[T any](list []Item[T], last uint64) Queue[T] { return Queue[T]{list, last} }

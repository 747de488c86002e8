// Package heap keeps items in order of urgency while they change: queues of which the first is
// served. It is container/heap for one type, without an interface, and so twice as fast.
//
//	claims := heap.Heap[*claim]{Before: func(a, b *claim) bool { return a.held < b.held }}
//	claims.Push(c)
//	claims.Items[0].held++
//	claims.Fix(0)
//
// Where Before is a strict order, items come out in that order however they were put in. A Heap
// is not safe for concurrent use.
package heap

// Heap is a binary heap. It needs Before; Items may be empty, or sorted.
type Heap[T any] struct {
	// Items are in heap order: the item at i comes before those at 2i+1 and 2i+2.
	Items []T
	// Before says whether a comes before b.
	Before func(a, b T) bool
	// Moved is called with an item's new index when that changed. It is not called for an item that
	// is taken out. Nil: nobody needs the indexes.
	Moved func(x T, to int)
}

// Push adds an item.
func (h *Heap[T]) Push(x T) {
	h.Items = append(h.Items, x)
	h.up(len(h.Items) - 1)
}

// Pop takes out the first item, of a heap that is not empty.
func (h *Heap[T]) Pop() T {
	x := h.Items[0]
	h.Remove(0)
	return x
}

// Remove takes out the item at an index.
func (h *Heap[T]) Remove(i int) {
	last := len(h.Items) - 1
	h.Items[i] = h.Items[last]
	clear(h.Items[last:])
	h.Items = h.Items[:last]
	if i < last {
		h.Fix(i)
	}
}

// Fix puts the item at an index in its place after it changed.
func (h *Heap[T]) Fix(i int) {
	if !h.down(i) {
		h.up(i)
	}
}

// Init brings Items into heap order.
func (h *Heap[T]) Init() {
	for i := len(h.Items) - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h *Heap[T]) up(i int) {
	x := h.Items[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !h.Before(x, h.Items[parent]) {
			break
		}
		h.put(h.Items[parent], i)
		i = parent
	}
	h.put(x, i)
}

// down says whether the item has moved.
func (h *Heap[T]) down(from int) bool {
	i, x := from, h.Items[from]
	for {
		child := 2*i + 1
		if child >= len(h.Items) {
			break
		}
		if right := child + 1; right < len(h.Items) && h.Before(h.Items[right], h.Items[child]) {
			child = right
		}
		if !h.Before(h.Items[child], x) {
			break
		}
		h.put(h.Items[child], i)
		i = child
	}
	h.put(x, i)
	return i != from
}

func (h *Heap[T]) put(x T, i int) {
	h.Items[i] = x
	if h.Moved != nil {
		h.Moved(x, i)
	}
}

// Reset empties the heap and gives it another order.
func (h *Heap[T]) Reset(before func(a, b T) bool) {
	clear(h.Items)
	h.Items, h.Before = h.Items[:0], before
}

// First lists the first item, or nothing.
func (h *Heap[T]) First() []T { return h.Items[:min(1, len(h.Items))] }

// Below lists the items that come right after the item at an index: two at most.
func (h *Heap[T]) Below(i int) []T {
	from := min(2*i+1, len(h.Items))
	return h.Items[from:min(from+2, len(h.Items))]
}

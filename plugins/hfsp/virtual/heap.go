package virtual

// heap is a binary heap. Its items are in an order that its reader may use: what lies
// at i comes before what lies at 2i+1 and 2i+2.
type heap[T any] struct {
	items  []T
	before func(a, b T) bool
	moved  func(x T, to int) // tells an item where it lies; nil where nobody asks
}

func (h *heap[T]) push(x T) {
	h.items = append(h.items, x)
	h.up(len(h.items) - 1)
}

// pop takes out the first item.
func (h *heap[T]) pop() T {
	x := h.items[0]
	h.remove(0)
	return x
}

func (h *heap[T]) remove(i int) {
	last := len(h.items) - 1
	h.items[i] = h.items[last]
	clear(h.items[last:])
	h.items = h.items[:last]
	if i < last {
		h.fix(i)
	}
}

// fix puts an item in its place that has changed.
func (h *heap[T]) fix(i int) {
	if !h.down(i) {
		h.up(i)
	}
}

// order puts all items in their places.
func (h *heap[T]) order() {
	for i := len(h.items) - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h *heap[T]) up(i int) {
	x := h.items[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !h.before(x, h.items[parent]) {
			break
		}
		h.put(h.items[parent], i)
		i = parent
	}
	h.put(x, i)
}

// down says whether the item has moved.
func (h *heap[T]) down(from int) bool {
	i, x := from, h.items[from]
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			break
		}
		if right := child + 1; right < len(h.items) && h.before(h.items[right], h.items[child]) {
			child = right
		}
		if !h.before(h.items[child], x) {
			break
		}
		h.put(h.items[child], i)
		i = child
	}
	h.put(x, i)
	return i != from
}

func (h *heap[T]) put(x T, i int) {
	h.items[i] = x
	if h.moved != nil {
		h.moved(x, i)
	}
}

// reset empties the heap, and gives it an order.
func (h *heap[T]) reset(before func(a, b T) bool) {
	clear(h.items)
	h.items, h.before = h.items[:0], before
}

// first lists the first item, if there is one.
func (h *heap[T]) first() []T { return h.items[:min(1, len(h.items))] }

// below lists where the items lie that come next after that at i.
func (h *heap[T]) below(i int) []T {
	from := min(2*i+1, len(h.items))
	return h.items[from:min(from+2, len(h.items))]
}

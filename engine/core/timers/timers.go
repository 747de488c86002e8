// Package timers holds what is due at a time of the core.
package timers

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/codec"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Timer is due at a time. It is never cancelled: whoever it is for looks, when it is due,
// whether there is still something to do.
type Timer struct {
	At   scheduler.Time
	Kind uint8  // what it is about
	ID   uint64 // of whom
	seq  uint64 // first set, first due
}

// Timers are those that are not due yet, or were left. The zero value has none.
// Invariant: no two have one seq, and none has one above last.
type Timers struct {
	heap ordered
	last uint64 // seq given last
}

// Set adds a timer.
func (t *Timers) Set(at scheduler.Time, kind uint8, id uint64) {
	t.last++
	heap.Push(&t.heap, Timer{at, kind, id, t.last})
}

// Next returns when the first is due; false when there is none.
func (t *Timers) Next() (scheduler.Time, bool) {
	if len(t.heap) == 0 {
		return 0, false
	}
	return t.heap[0].At, true
}

// Due says whether one is due at a time.
func (t *Timers) Due(now scheduler.Time) bool { return len(t.heap) > 0 && t.heap[0].At <= now }

// Take takes the first out, of some that are there.
func (t *Timers) Take() Timer { return heap.Pop(&t.heap).(Timer) }

// Len is how many there are.
func (t *Timers) Len() int { return len(t.heap) }

// Clone returns a copy that stays while these change.
func (t *Timers) Clone() Timers { return Timers{slices.Clone(t.heap), t.last} }

// CodeLast codes the number that was given last.
func (t *Timers) CodeLast(w *codec.Codec) { codec.Num(w, &t.last) }

// Code codes all but that, in order.
func (t *Timers) Code(w *codec.Codec) {
	sorted := slices.Clone(t.heap)
	slices.SortFunc(sorted, func(x, y Timer) int { return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.seq, y.seq)) })
	codec.List(w, (*[]Timer)(&sorted), func(w *codec.Codec, x *Timer) {
		codec.Num(w, &x.At)
		codec.Num(w, &x.seq)
		codec.Num(w, &x.Kind)
		codec.Num(w, &x.ID)
	})
	if w.Reading {
		t.heap = sorted
		heap.Init(&t.heap)
	}
}

// ordered is a heap by time, then by seq.
type ordered []Timer

func (h ordered) Len() int { return len(h) }
func (h ordered) Less(i, j int) bool {
	return h[i].At < h[j].At || h[i].At == h[j].At && h[i].seq < h[j].seq
}
func (h ordered) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push is heap.Interface's.
func (h *ordered) Push(x any) { *h = append(*h, x.(Timer)) }

// Pop is heap.Interface's.
func (h *ordered) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

package state

import "iter"

// ReadyList links the ready bundles of a job, the longest ready first. The zero value is empty.
type ReadyList struct {
	bundles     []Bundle // of the job, by index
	first, last int32    // bundle index + 1; 0: none
	count       int
}

func (l *ReadyList) add(b *Bundle) {
	b.prev, b.next = l.last, 0
	if l.last == 0 {
		l.first = int32(b.Index) + 1
	} else {
		l.bundles[l.last-1].next = int32(b.Index) + 1
	}
	l.last = int32(b.Index) + 1
	l.count++
}

func (l *ReadyList) remove(b *Bundle) {
	if b.prev == 0 {
		l.first = b.next
	} else {
		l.bundles[b.prev-1].next = b.next
	}
	if b.next == 0 {
		l.last = b.prev
	} else {
		l.bundles[b.next-1].prev = b.prev
	}
	b.prev, b.next = 0, 0
	l.count--
}

// All yields the ready bundles, the longest ready first. The bundle at hand may be removed meanwhile.
func (l *ReadyList) All() iter.Seq[*Bundle] {
	return func(yield func(*Bundle) bool) {
		for at := l.first; at != 0; {
			b := &l.bundles[at-1]
			at = b.next
			if !yield(b) {
				return
			}
		}
	}
}

// Len returns how many bundles are ready.
func (l *ReadyList) Len() int { return l.count }

// Longest returns the bundle that is ready longest; nil: none is.
func (l *ReadyList) Longest() *Bundle {
	if l.first == 0 {
		return nil
	}
	return &l.bundles[l.first-1]
}

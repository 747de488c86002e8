// Package idmap maps ascending ids to values. The manager numbers jobs, bundles, attempts and
// launchers in this way.
//
// Neighbouring ids share a page. So a lookup of a recent id touches memory that is in the
// processor's cache, where a built-in map scatters it. A policy or a manager with a hundred
// thousand live objects spends much of its time on such lookups. An empty page is freed, so memory
// follows content: at most one page for each id, and usually eight bytes.
//
// A Map is not safe for concurrent use.
package idmap

import (
	"iter"
	"slices"
)

// pageBits is the number of an id's low bits that count within a page.
const pageBits = 6

type page[T any] struct {
	values [1 << pageBits]*T
	count  int
}

// Map holds a *T for each id. The zero Map is empty and ready for use.
type Map[K ~uint64, T any] struct {
	pages map[uint64]*page[T]
	len   int
}

// Len returns how many ids have a value.
func (m *Map[K, T]) Len() int { return m.len }

// Get returns an id's value, or nil.
func (m *Map[K, T]) Get(id K) *T {
	p := m.pages[uint64(id)>>pageBits]
	if p == nil {
		return nil
	}
	return p.values[id%(1<<pageBits)]
}

// Set sets an id's value, in place of an earlier one; nil deletes it.
func (m *Map[K, T]) Set(id K, value *T) {
	number := uint64(id) >> pageBits
	p := m.pages[number]
	if p == nil {
		if value == nil {
			return
		}
		if m.pages == nil {
			m.pages = map[uint64]*page[T]{}
		}
		p = &page[T]{}
		m.pages[number] = p
	}
	at := &p.values[id%(1<<pageBits)]
	switch {
	case *at == nil && value != nil:
		p.count++
		m.len++
	case *at != nil && value == nil:
		p.count--
		m.len--
	}
	*at = value
	if p.count == 0 {
		delete(m.pages, number)
	}
}

// Delete deletes an id's value.
func (m *Map[K, T]) Delete(id K) { m.Set(id, nil) }

// All walks ids and values in order of id. Values may be set and deleted meanwhile: deleted values
// are not walked any more, new ones may be.
func (m *Map[K, T]) All() iter.Seq2[K, *T] {
	return func(yield func(K, *T) bool) {
		numbers := make([]uint64, 0, len(m.pages))
		for n := range m.pages {
			numbers = append(numbers, n)
		}
		slices.Sort(numbers)
		for _, n := range numbers {
			p := m.pages[n]
			if p == nil {
				continue
			}
			for i := range p.values {
				if v := p.values[i]; v != nil && !yield(K(n<<pageBits|uint64(i)), v) {
					return
				}
			}
		}
	}
}

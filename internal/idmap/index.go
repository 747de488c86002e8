package idmap

import (
	"iter"
	"slices"
)

// Index is a Map that walks its values in order of id without lookups. It suits sets with few
// changes. The zero Index is empty and ready for use.
type Index[K ~uint64, T any] struct {
	byID Map[K, T]
	ids  []K
}

// Len returns how many values there are.
func (x *Index[K, T]) Len() int { return len(x.ids) }

// Get returns an id's value, or nil.
func (x *Index[K, T]) Get(id K) *T { return x.byID.Get(id) }

// IDs returns the ids, ascending: not to be changed, and good until the next change.
func (x *Index[K, T]) IDs() []K { return x.ids }

// Add sets an id's value, which is not nil, in place of an earlier one.
func (x *Index[K, T]) Add(id K, v *T) {
	if i, found := slices.BinarySearch(x.ids, id); !found {
		x.ids = slices.Insert(x.ids, i, id)
	}
	x.byID.Set(id, v)
}

// Remove deletes an id's value.
func (x *Index[K, T]) Remove(id K) {
	if i, found := slices.BinarySearch(x.ids, id); found {
		x.ids = slices.Delete(x.ids, i, i+1)
		x.byID.Delete(id)
	}
}

// All walks the values in order of id. Values may be removed meanwhile; values added meanwhile are
// not walked.
func (x *Index[K, T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, id := range slices.Clone(x.ids) {
			if v := x.byID.Get(id); v != nil && !yield(v) {
				return
			}
		}
	}
}

// Clone returns an index with the same ids, whose values copied returns.
func (x *Index[K, T]) Clone(copied func(*T) *T) Index[K, T] {
	y := Index[K, T]{ids: slices.Clone(x.ids)}
	for _, id := range y.ids {
		y.byID.Set(id, copied(x.byID.Get(id)))
	}
	return y
}

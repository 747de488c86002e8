package core

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/internal/idmap"
)

// index holds values by id and walks them in order of id.
type index[K ~uint64, T any] struct {
	byID idmap.Map[K, T]
	ids  []K
}

func (x *index[K, T]) len() int { return len(x.ids) }

func (x *index[K, T]) get(id K) *T { return x.byID.Get(id) }

func (x *index[K, T]) add(id K, v *T) {
	i, found := slices.BinarySearch(x.ids, id)
	if !found {
		x.ids = slices.Insert(x.ids, i, id)
	}
	x.byID.Set(id, v)
}

func (x *index[K, T]) remove(id K) {
	if i, found := slices.BinarySearch(x.ids, id); found {
		x.ids = slices.Delete(x.ids, i, i+1)
		x.byID.Delete(id)
	}
}

// all walks the values in order of id. It may be removed from meanwhile; what is
// added meanwhile is not walked.
func (x *index[K, T]) all() func(func(*T) bool) {
	return func(yield func(*T) bool) {
		for _, id := range slices.Clone(x.ids) {
			if v := x.byID.Get(id); v != nil && !yield(v) {
				return
			}
		}
	}
}

// sortedKeys returns a map's keys in order.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// addSorted puts a key into a sorted set.
func addSorted[K cmp.Ordered](s []K, k K) []K {
	if i, found := slices.BinarySearch(s, k); !found {
		return slices.Insert(s, i, k)
	}
	return s
}

func inSorted[K cmp.Ordered](s []K, k K) bool {
	_, found := slices.BinarySearch(s, k)
	return found
}

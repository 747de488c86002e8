package core

import (
	"cmp"
	"slices"
)

// index holds values by id and walks them in order of id.
type index[K cmp.Ordered, V any] struct {
	byID map[K]V
	ids  []K
}

func newIndex[K cmp.Ordered, V any]() index[K, V] { return index[K, V]{byID: map[K]V{}} }

func (x *index[K, V]) len() int { return len(x.ids) }

func (x *index[K, V]) get(id K) V { return x.byID[id] }

func (x *index[K, V]) add(id K, v V) {
	i, found := slices.BinarySearch(x.ids, id)
	if !found {
		x.ids = slices.Insert(x.ids, i, id)
	}
	x.byID[id] = v
}

func (x *index[K, V]) remove(id K) {
	if i, found := slices.BinarySearch(x.ids, id); found {
		x.ids = slices.Delete(x.ids, i, i+1)
		delete(x.byID, id)
	}
}

// all walks the values in order of id. It may be removed from meanwhile; what is
// added meanwhile is not walked.
func (x *index[K, V]) all() func(func(V) bool) {
	return func(yield func(V) bool) {
		for _, id := range slices.Clone(x.ids) {
			if v, ok := x.byID[id]; ok && !yield(v) {
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

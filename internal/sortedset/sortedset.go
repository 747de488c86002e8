// Package sortedset keeps small sets as sorted lists, which iterate in a fixed order.
package sortedset

import (
	"cmp"
	"slices"
)

// Add puts a key into a set, and returns the set.
func Add[K cmp.Ordered](s []K, k K) []K {
	if i, found := slices.BinarySearch(s, k); !found {
		return slices.Insert(s, i, k)
	}
	return s
}

// Has reports whether a key is in a set.
func Has[K cmp.Ordered](s []K, k K) bool {
	_, found := slices.BinarySearch(s, k)
	return found
}

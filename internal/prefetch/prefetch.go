// Package prefetch reads memory before it is needed. A loop over events on objects that were unused
// for long waits for memory at each object. The next address is known only when the previous object
// has arrived. A first pass over a part of the list touches the object of each event. So the
// processor waits for many reads at the same time. It changes nothing but speed.
//
// Use it level by level: touch all objects of a batch, then the objects that they point to, and so
// on. A caller sums up what the functions return, and keeps the sum alive with runtime.KeepAlive,
// so that the reads are not optimized away.
//
// The core uses it for each batch. Launches and ends touch thousands of objects a second, spread
// over the heap, and much of their cost is waiting for memory. For the same reason an attempt keeps
// what its end needs, and does not look it up in the plan. Objects that start together are one
// allocation.
package prefetch

import "unsafe"

const (
	// Batch is the most objects that Next returns: they are touched before the first of them is
	// used. They are enough to keep the processor's outstanding reads busy, and few enough to stay
	// in the cache until they are used.
	Batch = 64
	// batchMin is the least number of objects that repays a second pass.
	batchMin = 8
)

// Next returns the batch to touch before the i-th element of a list is used. It returns nil within
// a batch, and for a batch that is too small to repay it.
func Next[T any](list []T, i int) []T {
	if i%Batch != 0 || len(list)-i < batchMin {
		return nil
	}
	return list[i:min(i+Batch, len(list))]
}

// line is the size of a cache line, in bytes. On processors with larger lines, some are touched
// twice.
const line = 64

// All touches every cache line of a value, but not what the value points to. It ignores a nil
// pointer.
func All[T any](p *T) byte {
	if p == nil {
		return 0
	}
	at, size := unsafe.Pointer(p), unsafe.Sizeof(*p)
	sum := *(*byte)(unsafe.Add(at, size-1)) // the value may begin in the middle of a line
	for i := uintptr(0); i < size; i += line {
		sum += *(*byte)(unsafe.Add(at, i))
	}
	return sum
}

// First touches the cache lines of a value up to its byte end: for a large value of which only the
// first part is used. It ignores a nil pointer.
func First[T any](p *T, end uintptr) byte {
	if p == nil {
		return 0
	}
	sum := byte(0)
	for i := uintptr(0); i < min(end, unsafe.Sizeof(*p)); i += line {
		sum += *(*byte)(unsafe.Add(unsafe.Pointer(p), i))
	}
	return sum
}

// At touches one element of a slice; outside of it, nothing.
func At[T any](s []T, i int) byte {
	if uint(i) >= uint(len(s)) {
		return 0
	}
	return *(*byte)(unsafe.Pointer(&s[i]))
}

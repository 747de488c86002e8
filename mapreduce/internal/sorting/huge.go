package sorting

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePageBytes is the size of a large page on most machines. Where it is another
// one the advice has less effect.
const hugePageBytes = 2 << 20

// hugeSlice is make([]T, n), with the advice to the system to use large pages where
// that pays: memory of a hundred megabytes that is used from end to end costs 25,000
// page faults in small ones, and in random order an address lookup each time. T has
// no pointers.
func hugeSlice[T any](n int) []T {
	s := make([]T, n)
	var one T
	size := uintptr(n) * unsafe.Sizeof(one)
	if size < 2*hugePageBytes {
		return s
	}
	// Only whole large pages that are ours.
	start := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	skip := -start & (hugePageBytes - 1)
	whole := (size - skip) &^ (hugePageBytes - 1)
	inner := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), skip)), whole)
	_ = unix.Madvise(inner, unix.MADV_HUGEPAGE) // advice: a system that has no such pages works as well
	return s
}

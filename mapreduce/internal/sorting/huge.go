package sorting

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePageBytes is the size of a large page on most machines. On others the advice has less effect.
const hugePageBytes = 2 << 20

// hugeSlice is make([]T, n), and advises the system to use large pages if that pays. A hundred
// megabytes used from end to end cost 25,000 page faults in small pages. Random access costs an
// address lookup each time. T must have no pointers.
func hugeSlice[T any](n int) []T {
	s := make([]T, n)
	var one T
	size := uintptr(n) * unsafe.Sizeof(one)
	if size < 2*hugePageBytes {
		return s
	}
	// Only whole large pages within the slice.
	start := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	skip := -start & (hugePageBytes - 1)
	whole := (size - skip) &^ (hugePageBytes - 1)
	inner := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), skip)), whole)
	_ = unix.Madvise(inner, unix.MADV_HUGEPAGE) // only advice: systems without such pages work as well
	return s
}

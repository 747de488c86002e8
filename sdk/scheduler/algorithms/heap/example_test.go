package heap_test

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/heap"
)

// Slots come free one by one, and each goes to the job that holds fewest.
func Example() {
	type job struct {
		name string
		held int
	}
	jobs := heap.Heap[*job]{Before: func(a, b *job) bool { return a.held < b.held }}
	jobs.Push(&job{"sort", 3})
	jobs.Push(&job{"count", 0})
	for range 3 {
		next := jobs.Items[0]
		next.held++
		jobs.Fix(0)
		fmt.Println(next.name, next.held)
	}
	// Output:
	// count 1
	// count 2
	// count 3
}

package virtual_test

import (
	"fmt"

	"github.com/hamadryad/hamadryad/plugins/hfsp/virtual"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Three jobs that need the whole cluster each: figure 1 of the paper.
func Example() {
	second := func(n scheduler.Time) scheduler.Time { return n * 1e9 }
	c := virtual.New(1, 0)
	c.Add(virtual.ID{Job: 1}, virtual.Spec{Size: 30, Weight: 1, Cap: 1}, 0)
	c.Advance(second(10))
	c.Add(virtual.ID{Job: 2}, virtual.Spec{Size: 10, Weight: 1, Cap: 1}, 0)
	c.Advance(second(15))
	c.Add(virtual.ID{Job: 3}, virtual.Spec{Size: 10, Weight: 1, Cap: 1}, 0)
	for j := range c.Order() {
		fmt.Println(j.ID().Job, "would finish after", c.Finish(j).Sub(0), "and has done", j.Done())
	}
	for j, n := range c.Allot(1, virtual.Sharing, (*virtual.Job).Cap) {
		fmt.Println(j.ID().Job, "has", n, "slot now")
	}
	// Output:
	// job-2 would finish after 37.5s and has done 2.5
	// job-3 would finish after 42.5s and has done 0
	// job-1 would finish after 50s and has done 12.5
	// job-2 has 1 slot now
}

// Package pooltree orders jobs for slots by a tree of pools. Each pool has its weight, its minimum
// and maximum shares, and its own order of what is in it.
//
//	t := pooltree.New(pooltree.Fair)
//	t.AddPool("research", pooltree.Pool{Weight: 2})
//	j := t.AddJob("research", pooltree.Job{ID: 7, Start: now})
//	j.Of(kind).Set(0, 12)        // nothing runs, 12 slots' worth of work waits
//	for job := t.Next(kind); job != nil; job = t.Next(kind) {
//		if launched(job) {
//			job.Of(kind).Take(1)
//		} else {
//			t.Pass(job, kind)    // the next one is asked
//		}
//	}
//	t.Rewind(kind)
//
// A Node is a pool or a job. It has one Schedulable for each kind of slot (Hadoop Fair Scheduler
// design document, section 4.3). That has the node's running slots, demand, minimum, weight and
// place in its pool's queue. Pools nest to any depth. A pool holds either pools or jobs.
//
// # Cost
//
// Only nodes that wait for slots are in a queue: a job that wants nothing costs nothing. A change
// of a job costs its depth in the tree times the logarithm of its waiting siblings. Divide, which
// computes fair shares, looks at pools only.
//
// # Memory
//
// Everything follows from the values given to Set, except what the orders remember: see Memory. A
// tree with the same contents and the same memory serves in the same order, whatever happened
// before. A Tree belongs to one goroutine.
package pooltree

// Package virtual is the virtual cluster of HFSP: a simulation, beside the real
// cluster, in which all live jobs share the slots of one kind fairly. Who would finish
// first there is served first in the real one (Pastorelli et al., "Practical Size-based
// Scheduling for MapReduce Workloads", sections 2.1 and 3.3).
//
// A job is what the paper calls one: a stage of a DAG. It has a size (the work of all
// its tasks one after the other, in slot-seconds), a weight, and a cap, which is the
// number of slots that it can use at most. Slots are divided like a fluid by max-min
// fairness with weights and caps: there is a level, and each job runs at the rate
//
//	min(cap, weight × level)   slots
//
// where all rates together are the smaller of the capacity and the sum of the caps.
// That is processor sharing where weights are equal, and generalized processor sharing
// (section 5) where they are not. Virtual time runs at real speed.
//
// A job that has finished virtually, and not really, is late: its size was estimated
// too low, or the real cluster is behind. It takes no part in the sharing any more, and
// comes before all others in the real cluster. Rule says how.
//
// The smallest use, once for each kind of slot:
//
//	c := virtual.New(slots, now)
//	j := c.Add(id, virtual.Spec{Size: 6000, Weight: 1, Cap: 100})
//	...
//	c.Advance(event.At)        // first of all, with each event
//	c.Set(j, spec)             // a new estimate, a task finished, another priority
//	c.SetCapacity(slots)       // launchers came, went, or were blamed
//	c.Retire(j, worked)        // really finished
//	c.Remove(j)                // failed or killed
//	for j, n := range c.Allot(slots, virtual.Sharing, (*virtual.Job).Cap) {
//		// j is to have n slots now
//	}
//
// It does not know of tasks, launchers, samples or what really runs: the policy does.
package virtual

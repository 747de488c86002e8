// Package virtual is the virtual cluster of HFSP: a simulation in which all live jobs share the
// slots of one kind fairly. The job that would finish first there is served first in the real
// cluster. See Pastorelli et al., "Practical Size-based Scheduling for MapReduce Workloads",
// sections 2.1 and 3.3.
//
// A job is what the paper calls one: a stage of a DAG. It has a size, a weight and a cap. The size
// is the work of all its tasks one after the other, in slot-seconds. The cap is the number of slots
// that it can use at most. Slots are divided like a fluid by max-min fairness with weights and
// caps: there is a level, and each job runs at the rate
//
//	min(cap, weight × level)   slots
//
// All rates together are the smaller of the capacity and the sum of the caps. That is processor
// sharing where weights are equal, and generalized processor sharing (section 5) where they are
// not. Virtual time runs at real speed.
//
// A job that has finished virtually, and not really, is late: its size was estimated too low, or
// the real cluster is behind. It leaves the sharing, and comes before all others in the real
// cluster. Rule says how. A job that has finished really, and not virtually, stays virtually
// active: it goes on to its virtual end, as FSP has it.
//
// The smallest use, once for each kind of slot:
//
//	c := virtual.New(slots, now)
//	j := c.Add(id, virtual.Spec{Size: 6000, Weight: 1, Cap: 100})
//	...
//	c.Advance(event.At)        // first of all, with each event
//	c.Set(j, spec)             // a new estimate, a task finished, another priority
//	c.SetCapacity(slots)       // launchers came, went, or were excluded
//	c.FinishReal(j, worked)    // really finished
//	c.Remove(j)                // failed or killed
//	for j, n := range c.Allot(slots, virtual.Sharing, (*virtual.Job).Cap) {
//		// j is to have n slots now
//	}
//
// It does not know of tasks, launchers, samples or real attempts: the policy does.
//
// A cluster can be saved in pieces (Save). The first has all of it, and each later one what
// changed. Restore makes a cluster of the pieces that answers as the saved one, to the last bit.
//
// # How it is fast
//
// Divided by its weight, the rest of a job's work shrinks at the speed min(cap/weight, level). That
// depends on the ratio of cap to weight alone. So jobs of one ratio, a class, make progress in
// step, whatever the level does. Each class has a clock of that progress. A job's tag is what the
// clock will show at the job's end, and tags stay. A class that is bound by its cap goes by
// seconds. A class that is not goes by the level's integral over them, as in weighted fair
// queueing. An event changes the tag of one job, and then the classes whose cap starts or stops to
// bind, each as one.
//
// The next finish is known on each side: among the classes that are bound, and among those that
// share. How the two interleave is not, because it depends on how the level will rise as jobs
// finish. So the order is found by playing on (projection), from finish to finish, as far as it is
// asked for and until something changes. It touches only what comes next in each heap.
//
// No job comes in the projection, so the level only rises, and a class that is bound in it stays
// so. A class that becomes bound after the projection began is slower than those that share. Its
// jobs come up too early among these, and go over when they do. This is the plain simulation, with
// the same finishes; only what does not matter yet is left out.
//
// Most of the jobs that finish first are virtually active only, as FSP finishes jobs long before
// processor sharing would. They lie in trees with sums. These say what all of them do until a time,
// and when they have done so much, so that they are passed at once.
//
// With n jobs, some of them virtually active only:
//
//   - Add, Set, FinishReal, Remove, SetCapacity and each virtual finish in Advance take O(log n). So does each
//     class whose cap starts or stops to bind, and each virtually active job of one.
//   - Order and Allot take O(log n) for each job that is taken from them, and a binding O(log² n), once for
//     each class. Where nothing has changed since they were last taken, it is constant time. The same holds
//     for Finish, for each job that finishes before.
//   - Allot with late jobs takes O(m) for m of them under the rule Sharing, and O(m log m) where their weights
//     differ much.
//
// As BenchmarkCluster measures it, an event takes about half a microsecond with 1,000 jobs, and
// less than a whole one with 10,000. Allot takes about half a microsecond for each job to which it
// gives slots.
//
// Weights and caps are added up as whole numbers and times count from a recent one, so that nothing
// drifts. Products are rounded before they are added (float64), so that all machines decide alike.
// The order is that of exact arithmetic but for jobs that finish less than a rounding error apart.
package virtual

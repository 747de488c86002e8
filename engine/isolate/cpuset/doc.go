// Package cpuset divides a machine's processors among users, by the slots of their work. It only
// decides: the caller writes the result to cpuset.cpus.
//
//	d := cpuset.Divide(cpuset.Cores(os.DirFS("/sys/devices/system/cpu"), usable), slots)
//	d.Redivide(now, map[string]int{"alice": 2, "eve": 1}) // slots of each user with work
//	d.Of("alice")                                     // where alice's processes may run
//
// A slot is worth the same number of whole cores as every other slot. Where there are fewer cores
// than slots, it is worth processors (hardware threads). While several users have work, each has
// the processors of its own slots to itself. All users share the processors of unused slots and the
// remainder. While one user has work, it has all processors.
//
// With more slots than processors nothing can be divided, and Divide returns nil. Where work takes
// more slots than there are, the users with most get fewer processors to themselves. With more
// users than slots some users get none: they use the shared processors, or all.
//
// # Why weights are not enough
//
// cpu.weight divides a group's weight among the processors that its threads are on. So one thread
// beside many threads gets less than its slot's worth. Where the controller cpuset is delegated
// too, and workers run as their submitter, each user therefore gets processors of their own
// (cpuset.cpus). Suspended work does not count.
//
// # Few writes
//
// A user who needs more processors gets them at the next look. That is at once, but at least 100 ms
// after the last such look (dividePause). A worker is started on its user's processors. A user who
// needs less keeps them for a second (Held), unless another user needs them. So short tasks of
// several users that follow each other move nothing. One look writes to each worker once at most,
// and only what changed.
package cpuset

// Package cpuset divides a machine's processors among users, by the slots that their
// work has. It decides, and touches nothing.
//
//	d := cpuset.Divide(cpuset.Cores(os.DirFS("/sys/devices/system/cpu"), usable), slots)
//	d.Look(now, map[string]int{"alice": 2, "eve": 1}) // whoever has work, and for how many slots
//	d.Of("alice")                                     // where alice's processes may run
//
// Each slot stands for as many whole cores as every slot can have, or where there are fewer
// cores than slots for as many processors. While several users have work, each has to itself
// what stands for his slots. What stands for no slot that is used, and what is left over, all
// share. While one has work he has everything.
//
// With more slots than processors nothing can be divided: Divide gives nil. Where users have
// work for more slots than there are, those with most have fewer to themselves, and with more
// users than slots some have none: they share what all share, or everything.
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

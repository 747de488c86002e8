// Package cluster says on what a workload is played: launchers by count, with their slots,
// racks, speed and failures, and how long things take there.
//
//	launchers:
//	- {count: 100, slots: {map: 4, reduce: 2}, racks: 5}
//	model:
//	  locality: {rack: 1.2, remote: 1.5}
//	  slowStart: 0.05
//
// Parse reads such a file and is strict. It names by file and line each key that it does not know,
// and each value that makes no sense. Random values, such as a task's speed or when a launcher
// fails, depend on the seed and on the task or launcher alone. They do not depend on the order of
// questions. So two policies that decide otherwise find the same world.
//
// The package reads no clock and opens no file. A Cluster may be read by several
// goroutines at once.
package cluster

// Package cluster says on what a workload is played: launchers by count, with their slots,
// racks, speed and failures, and how long things take there.
//
//	launchers:
//	- {count: 100, slots: {map: 4, reduce: 2}, racks: 5}
//	model:
//	  locality: {rack: 1.2, remote: 1.5}
//	  slowStart: 0.05
//
// Parse reads such a file and is strict: what it does not know, and each value that makes
// no sense, is named by file and line. What chance decides, such as a task's speed or when
// a launcher fails, depends on the seed and on whose it is alone, and not on the order in
// which it is asked: two policies that decide otherwise find the same world.
//
// The package reads no clock and opens no file. A Cluster may be read by several
// goroutines at once.
package cluster

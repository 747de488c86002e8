// Package cluster describes the simulated cluster that plays a workload: launchers by count, with
// their slots, racks, speed and failures, and the duration of operations.
//
//	launchers:
//	- {count: 100, slots: {map: 4, reduce: 2}, racks: 5}
//	model:
//	  locality: {rack: 1.2, remote: 1.5}
//	  slowStart: 0.05
//
// Parse reads such a file and is strict. It reports each unknown key and each invalid value by file
// and line. Random values, such as a task's speed or when a launcher fails, depend on the seed and
// on the task or launcher alone. They do not depend on the order of calls. So two policies with
// other decisions meet the same cluster.
//
// The package reads no clock and opens no file. A Cluster may be read by several goroutines at
// once.
package cluster

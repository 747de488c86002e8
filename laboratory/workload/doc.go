// Package workload describes the jobs that come to a cluster, and when. They are those of a
// recorded day, of a published experiment, or of a generator. The laboratory plays them.
//
// A Workload is a list of jobs in order of submission. A job has stages, and a stage has tasks. A
// task says how long it works next to its input, and how many bytes it reads and writes. Times are
// whole nanoseconds from the beginning of the workload, so the same workload is the same on all
// machines.
//
// Reading is strict. An unknown field, a negative time, a duplicate id, or an unbounded count is an
// error that names file and line. No part of a workload is ever returned with an error.
//
// The package reads no clock and opens no file. A Workload may be read by several goroutines at
// once.
package workload

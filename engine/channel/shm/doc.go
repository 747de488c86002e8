// Package shm hands batches from one node to another inside a process, without a
// copy. A queue holds a bounded number of bytes; a writer waits while it is full.
//
// A fork and a join inside a group can wait for each other. A join wants all of its left input
// first, while the node that feeds both sides waits for room on the right. So a writer waits only
// for a reader that makes progress. When the reader of a full queue takes nothing for the stall
// time, further batches go to a spill file, until the reader takes again. The spill is bounded in
// bytes, not in time. Batches come out in the order in which they were written. The spill file has
// no name, so it is gone with its process.
package shm
